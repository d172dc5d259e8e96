/** Source: decisions, Operations. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  ApplicationState,
  bootstrap,
  Controller,
  Database,
  DeclarationError,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
} from 'filigree'
import { Throttle, throttle, type ThrottleBy } from 'filigree/throttle'

class Credentials {
  @Field('string', { maxLength: 2000 }) name!: string
  @Field('string') password!: string
  @Field('string', { optional: true }) tenant?: string
}

let calls = 0

@Controller('/login')
@NoAuth
class LoginController {
  @Post('/', { body: Credentials })
  @Throttle('6/m')
  @Throttle('2/m', { by: 'body.name' })
  login(): unknown {
    calls++
    return { ok: true }
  }

  @Post('/tenant', { body: Credentials })
  @Throttle('2/m', {
    by: (request, body: Credentials) => body.tenant && `${request.ip} ${body.tenant}`,
  })
  tenant(): unknown {
    return { ok: true }
  }

  @Post('/stored', { body: Credentials })
  @Throttle('2/m', { by: 'body.name', store: 'database' })
  stored(): unknown {
    return { ok: true }
  }
}

@Module({ controllers: [LoginController] })
class AppModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(AppModule, {
    ...{ listen: false, logger: false, env: {}, database: 'sqlite::memory:', trustProxy: 1 },
  })
})
afterAll(() => app.close())
beforeEach(async () => {
  calls = 0
  await app.get(ApplicationState).reset()
})

async function send(
  path: string,
  name: unknown,
  more: object = {},
  from = '192.0.2.1',
): Promise<number> {
  const headers = { 'x-forwarded-for': from }
  const json = { name, password: 'x', ...more }
  return (await app.inject({ method: 'POST', url: path, headers, json })).status
}

describe('a limit by the body', () => {
  it('counts a name from all addresses, however it is written', async () => {
    expect(await send('/login', 'Ada', {}, '192.0.2.1')).toBe(200)
    expect(await send('/login', ' ada ', {}, '192.0.2.2')).toBe(200)
    expect(await send('/login', 'ＡＤＡ', {}, '192.0.2.3')).toBe(429)
    expect(await send('/login', 'bob', {}, '192.0.2.3')).toBe(200)
    expect(calls).toBe(3)
  })

  it('counts a name of 1,900 combining marks, which it does not normalise', async () => {
    const name = `a${'\u0301\u0316'.repeat(950)}`
    const statuses = [await send('/login', name), await send('/login', name)]
    expect([...statuses, await send('/login', name)]).toEqual([200, 200, 429])
  })

  it('is combined with a limit by address, which other names use up', async () => {
    for (let name = 0; name < 6; name++) expect(await send('/login', `n${name}`)).toBe(200)
    expect(await send('/login', 'another')).toBe(429)
    expect(await send('/login', 'another', {}, '192.0.2.9')).toBe(200)
  })

  it('counts after the validation of the body, so a malformed one is 400 and counts for no name', async () => {
    for (let attempt = 0; attempt < 4; attempt++)
      expect(await send('/login', 'Ada', { password: 7 })).toBe(400)
    expect(await send('/login', 7)).toBe(400)
    expect(await send('/login', 'Ada')).toBe(200)
  })

  it('has one count for a name, whatever the media type', async () => {
    const form = async (body: string): Promise<number> => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return (await app.inject({ method: 'POST', url: '/login', headers, body })).status
    }
    const json = async (body: string): Promise<number> => {
      const headers = { 'content-type': 'application/json' }
      return (await app.inject({ method: 'POST', url: '/login', headers, body })).status
    }
    expect(await send('/login', 'Ren\u00e9')).toBe(200)
    expect(await form('name=Rene%CC%81&password=x')).toBe(200)
    for (const name of ['rene\u0301', 'REN\u00c9', '\u3000Ren\u00e9\n', '\uff32en\u00e9'])
      expect(await send('/login', name, {}, '192.0.2.8')).toBe(429)
    expect(await form('password=x&name=REN%C3%89')).toBe(429)
    expect(await json('{"name":"other","password":"x","name":"ren\\u00e9"}')).toBe(429)
  })

  it('does not count a body that its class refuses', async () => {
    const odd: unknown[] = [['Ada'], { name: 'Ada' }, [['Ada']], 7, true, null, 'x'.repeat(2001)]
    for (const [place, name] of [...odd, undefined].entries())
      expect([place, await send('/login', name, {}, `192.0.2.${place}`)]).toEqual([place, 400])
    for (const status of [200, 200, 429]) expect(await send('/login', 'Ada')).toBe(status)
  })

  it('accepts a function of request and body, and undefined is not counted', async () => {
    for (let attempt = 0; attempt < 4; attempt++) expect(await send('/login/tenant', 'a')).toBe(200)
    for (const status of [200, 200, 429])
      expect(await send('/login/tenant', 'a', { tenant: 't' })).toBe(status)
    expect(await send('/login/tenant', 'a', { tenant: 't' }, '192.0.2.7')).toBe(200)
  })

  it('stores only hashes, however long a name is', async () => {
    const odd = 'x'.repeat(1500)
    for (const status of [200, 200, 429]) expect(await send('/login/stored', odd)).toBe(status)
    expect(await send('/login/stored', 'grace')).toBe(200)
    const rows = await app
      .get(Database)
      .kysely.selectFrom('filigree_throttle')
      .selectAll()
      .execute()
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toMatch(/grace|xxx/)
  })

  it('documents 429', async () => {
    const document = (await app.inject('/swagger/openapi.json')).json() as {
      paths: { [path: string]: { post: { responses: object } } }
    }
    expect(Object.keys(document.paths['/login']?.post.responses ?? {})).toContain('429')
  })
})

describe('configuration problems', () => {
  async function problemsOf(
    by: ThrottleBy,
    method: 'get' | 'post' | 'list' | 'bare',
  ): Promise<string> {
    const verb = {
      get: Get('/'),
      post: Post('/', { body: Credentials }),
      list: Post('/', { body: [Credentials] }),
      bare: Post('/'),
    }[method]
    class OddController {
      run(body: unknown): unknown {
        return body
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(OddController.prototype, 'run')
    const decorators = [verb, Throttle('1/m', { by })] as MethodDecorator[]
    for (const decorate of decorators) decorate(OddController.prototype, 'run', descriptor ?? {})
    Controller('/odd')(OddController)
    @Module({ controllers: [OddController] })
    class OddModule {}
    const failure: unknown = await bootstrap(OddModule, {
      listen: false,
      logger: false,
      env: {},
    }).then(
      (started) => started.close(),
      (error: unknown) => error,
    )
    return failure instanceof DeclarationError ? failure.message : ''
  }

  it('include a field that the body does not have', async () => {
    expect(await problemsOf('body.nmae', 'post')).toMatch(
      /by names nmae, which the body of OddController\.run does not have\. +Its fields are name, password, tenant\./,
    )
    expect(await problemsOf('body.name', 'bare')).toContain('does not declare its class')
    expect(await problemsOf('body.name', 'list')).toContain('does not declare its class')
    expect(await problemsOf((_request, body: Credentials) => body.name, 'bare')).toContain(
      'does not declare its class',
    )
    for (const by of ['body', 'body.', 'body.a.b', 'bdoy.name'])
      expect(await problemsOf(by as never, 'post')).toContain(`by is ${JSON.stringify(by)}`)
    expect(await problemsOf('body.name', 'post')).toBe('')
  })

  it('include a limit of the whole application by the body', async () => {
    @Module({ imports: [throttle({ limit: '5/m', by: 'body.name' })] })
    class OddModule {}
    await expect(bootstrap(OddModule, { listen: false, logger: false, env: {} })).rejects.toThrow(
      'by needs a body, but each route has a different one',
    )
  })
})
