/** Messages about common mistakes, at the start and in responses. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Config,
  Controller,
  Doc,
  Field,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Post,
  Record,
  Secured,
  type BootstrapOptions,
  type DeclarationError,
  type Log,
  type Problem,
} from 'filigree'
import { silentLog } from '../silent-log.js'

type Class = new () => object

function moduleOf(...controllers: Class[]): Class {
  class MessageModule {}
  Module({ controllers })(MessageModule)
  return MessageModule
}

async function problemsOf(module: Class, options: object = {}): Promise<readonly Problem[]> {
  const allOptions = { listen: false, logger: false, env: {}, ...options } as BootstrapOptions
  try {
    await (await bootstrap(module, allOptions)).close()
    return []
  } catch (error) {
    return (error as DeclarationError).problems
  }
}

const textOf = ({ message, remedy }: Problem): string => `${message} ${remedy}`

describe('paths in the notation of other frameworks', () => {
  it.each([
    ['/shops/:shop', '<shop>'],
    ['/files/:rest*', '<rest:path>'],
    ['/*', '<rest:path>'],
    ['/files/*path', '<path:path>'],
    ['/a*', '<a:path>'],
  ])('stop the start, and the message has our notation: %s', async (path, ours) => {
    @Controller(path)
    class OfClass {
      @Get('/') read(): string {
        return ''
      }
    }
    @Controller('/')
    class OfMethod {
      @Get(path) read(): string {
        return ''
      }
    }
    for (const type of [OfClass, OfMethod]) {
      const [problem] = await problemsOf(moduleOf(type))
      expect(problem?.code).toBe('MALFORMED_PATTERN')
      expect(problem?.remedy).toContain(ours)
    }
  })

  it('are reported once for a controller, however many routes it has', async () => {
    for (const path of ['tickets', '/tickets/:id', '/tickets/<id:integer>']) {
      @Controller(path)
      class Tickets {
        @Get('/') list(): string {
          return ''
        }
        @Get('/a') a(id: string): string {
          return id
        }
        @Post('/b') b(): string {
          return ''
        }
      }
      const problems = await problemsOf(moduleOf(Tickets))
      expect(problems.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^@Controller of Tickets: /),
      ])
    }
  })

  it('may contain a colon elsewhere', async () => {
    @Controller('/jobs:batch')
    class Batch {
      @Get('/') read(): string {
        return ''
      }
    }
    expect(await problemsOf(moduleOf(Batch))).toEqual([])
  })
})

describe('options of the wrong type', () => {
  it.each([
    ['trustProxy', '127.0.0.1', /number of proxies/],
    ['cors', { origins: true }, /origins is true/],
    ['cors', { origins: { a: 1 } }, /not a list/],
    ['database', 5, /database is 5/],
    ['database', true, /sqlite:/],
    ['database', null, /database is null/],
  ])('are part of the start report: %s %j', async (name, value, text) => {
    const problems = await problemsOf(moduleOf(), { [name]: value, port: -1 })
    expect(problems.map(textOf)).toEqual(
      expect.arrayContaining([expect.stringMatching(text), expect.stringContaining('port is -1')]),
    )
  })

  it('never recommend trusting every proxy', async () => {
    const [problem] = await problemsOf(moduleOf(), { trustProxy: '10.0.0.1' })
    expect(problem?.remedy).not.toContain('Write true')
  })
})

describe('unknown options', () => {
  @Record()
  @NoAuth
  class Shelf {
    @Field('id') id!: number
  }
  @Module({ records: [Shelf] })
  class WithRecords {}

  it.each([
    [{ limits: { dpth: 5 } }, 'dpth', 'depth'],
    [{ documents: { olny: true } }, 'olny', 'only'],
    [{ documents: { from: {}, onyl: true } }, 'onyl', 'only'],
    [{ subscriptoins: false }, 'subscriptoins', 'subscriptions'],
  ])(
    'of GraphQL are refused at every depth, with and without records: %j',
    async (graphql, odd, suggested) => {
      for (const module of [WithRecords, moduleOf()]) {
        const database = 'sqlite::memory:'
        const text = (await problemsOf(module, { database, graphql })).map(textOf).join('\n')
        expect(text).toContain(`unknown option "${odd}"`)
        expect(text).toContain(`Did you mean "${suggested}"?`)
      }
      const alone = new GraphQL(graphql)
      alone.schema.addQuery('a', { type: 'Int', resolve: () => 1 })
      expect(() => alone.sdl).toThrow(`unknown option "${odd}"`)
      await expect(async () => alone.execute('{ a }')).rejects.toThrow(`unknown option "${odd}"`)
    },
  )

  it('do not include documents by id, whatever the ids are', () => {
    for (const documents of [{ from: '{ a }', only: '{ b }' }, { a: '{ a }' }, { from: {} }, {}]) {
      const alone = new GraphQL({ documents } as never)
      alone.schema.addQuery('a', { type: 'Int', resolve: () => 1 })
      expect(alone.sdl).toContain('a: Int')
    }
  })

  it('of @Secured on a field of a record are refused', async () => {
    @Record()
    class Safe {
      @Field('id') id!: number
      @Field('string') @Secured({ roles: ['a'], al: true } as never) name!: string
    }
    @Module({ records: [Safe] })
    class SafeModule {}
    const [problem] = await problemsOf(SafeModule, { database: 'sqlite::memory:' })
    expect(problem?.message).toContain(
      'Safe.name: @Secured: unknown option "al". Did you mean "all"?',
    )
  })
})

describe('error messages', () => {
  class Range {
    @Field('datetime', { optional: true }) from?: string
    @Field('string', { optional: true }) tag?: string
  }
  class Body {
    @Field('string') name!: string
  }
  @Record()
  @NoAuth
  class Event {
    @Field('id') id!: number
    @Field('datetime') at!: string
  }
  @Controller('/events', { crud: Event })
  @NoAuth
  class Events {}
  @Controller('/')
  @NoAuth
  class Pages {
    @Get('/range', { query: Range }) range(query: Range): object {
      return query
    }
    @Post('/typed', { body: Body }) typed(body: Body): object {
      return body
    }
    @Post('/shown') @Doc({ example: { name: 'a' } }) sample(body: unknown): object {
      return { body }
    }
  }
  @Module({ controllers: [Pages, Events], records: [Event] })
  class PageModule {}

  it('explain how to write a plus, suggest similar names, and list accepted types', async () => {
    const options = { listen: false, logger: false, env: {}, database: 'sqlite::memory:' } as const
    const app = await bootstrap(PageModule, { ...options, publicUrl: 'https://a.example/desk' })
    const errorAt = async (url: string): Promise<string> =>
      ((await app.inject(url)).json() as { error: string }).error
    expect(await errorAt('/range?from=2026-11-20T10:00:00+02:00')).toContain('write "+" as %2B')
    expect(await errorAt('/events?at.gte=2026-11-20T10:00:00+02:00')).toContain('write "+" as %2B')
    expect(await errorAt('/range?from=never')).not.toContain('%2B')
    expect(await errorAt('/range?page=2')).not.toContain('tag')
    expect(await errorAt('/range?tga=2')).toContain('tag')
    const send = (url: string, type: string) =>
      app.inject({ method: 'POST', url, body: 'a', headers: { 'content-type': type } })
    const refused = await send('/typed', 'text/csv')
    expect([refused.status, refused.headers.accept]).toEqual([
      415,
      'application/json, application/x-www-form-urlencoded, multipart/form-data',
    ])
    const graphql = await send('/graphql', 'text/plain')
    expect([graphql.status, graphql.headers.accept]).toEqual([415, 'application/json'])
    // An example does not restrict the body.
    for (const type of ['text/plain', 'text/csv'])
      expect((await send('/shown', type)).status).toBe(200)
    const { paths = {}, servers } = app.openapi
    expect(Object.keys(Object(paths['/shown']?.post?.requestBody?.valueOf()).content)).toHaveLength(
      5,
    )
    expect(Object.keys(paths['/shown']?.post?.responses ?? {})).toContain('200')
    expect(servers).toEqual([{ url: '/desk' }])
    await app.close()
  })
})

it('warns about unused environment variables with our prefixes', async () => {
  @Config
  class Settings {
    @Field('string') appName!: string
  }
  class Uses {
    static inject = [Settings]
    constructor(readonly settings: Settings) {}
  }
  @Module({ providers: [Uses, Settings] })
  class UsesModule {}
  const lines: string[] = []
  const logger: Log = { ...silentLog, warn: (_fields: object, text: string) => lines.push(text) }
  const env = {
    ...{ APP_NAME: 'desk', APP_PROT: '80', APP_API_KEI: 'x', DATABASE_ULR: '', FILIGREE_X: '1' },
    ...{ DATABASE_URL: 'sqlite::memory:', OTHER_X: '1' },
  }
  await (await bootstrap(UsesModule, { listen: false, logger, env })).close()
  const found = lines.filter((line) => line.includes('nothing reads this environment variable'))
  expect(found).toEqual([
    expect.stringMatching(/^APP_PROT: .* Did you mean PORT\?/),
    expect.stringMatching(/^APP_API_KEI: .* Did you mean APP_API_KEY\?/),
    expect.stringMatching(/^DATABASE_ULR: .* Did you mean DATABASE_URL\?/),
    expect.stringMatching(/^FILIGREE_X: /),
  ])
})
