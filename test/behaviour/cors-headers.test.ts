/** The headers that pages of other origins may send and read. Source: decisions, CORS and cookies. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createModule,
  events,
  Field,
  file,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record as RecordClass,
  reply,
  type BootstrapOptions,
} from '../../src/index.js'
import { idempotent } from '../../src/modules/idempotent/idempotent.js'
import { mcp } from '../../src/modules/mcp/mcp.js'
import { throttle } from '../../src/modules/throttle/throttle.js'
import { tracing } from '../../src/modules/tracing/tracing.js'

const standardHeaders = 'Origin, X-Requested-With, Content-Type, Accept, Authorization'
const origin = 'https://shop.example'

@Controller
class PlainController {
  @Get('/plain') plain() {
    return { a: 1 }
  }
  @Get('/events') live() {
    return events([])
  }
  @Get('/file') send() {
    return file('package.json', { root: '.', download: 'a.json' })
  }
  @Get('/busy') busy() {
    throw new HttpError(503, 'Later.', { headers: { 'retry-after': '3' } })
  }
  @Get('/audited') audited() {
    return reply({}).header('X-Audit', '1')
  }
  @Post('/write')
  @NoAuth
  write() {
    return {}
  }
}

const audit = createModule(() => ({
  cors: { allowedHeaders: ['X-Audit-Key'], exposedHeaders: ['X-Audit'] },
}))

type Imports = NonNullable<NonNullable<Parameters<typeof Module>[0]>['imports']>

function start(imports: Imports = [], options: BootstrapOptions = {}) {
  @Module({ controllers: [PlainController], imports })
  class PlainModule {}
  return bootstrap(PlainModule, { listen: false, logger: false, env: {}, ...options })
}

type Started = Awaited<ReturnType<typeof start>>

async function allowed(
  app: Started,
  requested: string | undefined,
  url = '/plain',
): Promise<unknown> {
  const headers = {
    origin,
    'access-control-request-method': 'GET',
    ...(requested === undefined ? {} : { 'access-control-request-headers': requested }),
  }
  const answer = await app.inject({ method: 'OPTIONS', url, headers })
  expect(answer.status).toBe(204)
  return answer.headers['access-control-allow-headers']
}

async function exposed(
  app: Started,
  url: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<unknown> {
  const { headers } = await app.inject({ method, url, headers: { origin } })
  return headers['access-control-expose-headers']
}

describe('request headers that a pre-flight allows', () => {
  it.each([
    [undefined, standardHeaders],
    ['content-type, authorization', standardHeaders],
    ['x-unknown', standardHeaders],
    ['last-event-id', `${standardHeaders}, Last-Event-ID`],
    ['authorization,if-none-match,if-match', `${standardHeaders}, If-Match, If-None-Match`],
    ['idempotency-key', standardHeaders],
  ])('requested %s without modules: %s', async (requested, list) => {
    await using app = await start()
    expect(await allowed(app, requested)).toBe(list)
  })

  it.each<[string, Imports, string]>([
    ['idempotent', [idempotent()], 'Idempotency-Key'],
    ['tracing', [tracing()], 'traceparent, tracestate'],
    ['mcp', [mcp()], 'Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name'],
    ['a package', [audit()], 'X-Audit-Key'],
  ])('include the headers of %s', async (_, imports, more) => {
    await using app = await start(imports)
    expect(await allowed(app, undefined)).toBe(`${standardHeaders}, ${more}`)
    expect(await allowed(app, 'if-match')).toBe(`${standardHeaders}, ${more}, If-Match`)
    // Other responses have the list of the specification.
    const plain = await app.inject({ url: '/plain', headers: { origin } })
    expect(plain.headers['access-control-allow-headers']).toBe(standardHeaders)
  })

  it('include the header of versions', async () => {
    await using app = await start([], { versions: { by: 'header', header: 'X-Shop-Version' } })
    expect(await allowed(app, undefined)).toBe(`${standardHeaders}, X-Shop-Version`)
  })

  it('are the same for listed origins', async () => {
    await using app = await start([idempotent()], { cors: { origins: [origin] } })
    expect(await allowed(app, 'last-event-id')).toBe(
      `${standardHeaders}, Idempotency-Key, Last-Event-ID`,
    )
  })
})

describe('response headers that scripts may read', () => {
  it.each([
    ['/plain', 'FreshToken'],
    ['/file', 'FreshToken, Content-Disposition, ETag'],
    ['/busy', 'FreshToken, Retry-After'],
    ['/audited', 'FreshToken'],
  ])('name the headers of the response from %s: %s', async (url, list) => {
    await using app = await start()
    expect(await exposed(app, url)).toBe(list)
  })

  it('include the headers of throttle', async () => {
    await using app = await start([throttle({ limit: '1/h' })])
    expect(await exposed(app, '/plain')).toBe('FreshToken, RateLimit-Policy, RateLimit')
    const names = String(await exposed(app, '/plain'))
      .split(', ')
      .sort()
    expect(names).toEqual(['FreshToken', 'RateLimit', 'RateLimit-Policy', 'Retry-After'])
  })

  it('include the headers of a package, each once', async () => {
    await using app = await start([audit()], { cors: { exposedHeaders: ['ETag'] } })
    expect(await exposed(app, '/audited')).toBe('FreshToken, ETag, X-Audit')
    expect(await exposed(app, '/file')).toBe('FreshToken, ETag, Content-Disposition')
  })

  it('include the entity tag of a row and the total count of a list', async () => {
    @RecordClass({ version: true })
    class Note {
      @Field('id') id!: number
      @Field('string') text!: string
    }
    @Controller('/notes', { crud: Note })
    @NoAuth
    class NoteController {}
    @Module({ controllers: [NoteController], records: [Note] })
    class NoteModule {}
    const options = { listen: false, logger: false, env: {}, database: 'sqlite::memory:' } as const
    await using app = await bootstrap(NoteModule, options)
    for (const text of ['a', 'b'])
      await app.inject({ method: 'POST', url: '/notes', json: { text } })
    expect(await exposed(app, '/notes/1')).toBe('FreshToken, ETag')
    expect(await exposed(app, '/notes?limit=1')).toBe('FreshToken, X-Total-Count, Link, ETag')
  })
})

describe('cors: false', () => {
  it('sends no CORS headers', async () => {
    await using app = await start([idempotent()], { cors: false })
    for (const url of ['/plain', '/file', '/events', '/busy', '/nothing']) {
      const { headers } = await app.inject({ url, headers: { origin } })
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  it('OPTIONS is 204 with Allow for a known path, and 404 for an unknown one', async () => {
    await using app = await start([], { cors: false })
    const headers = { origin, 'access-control-request-method': 'GET' }
    const existing = await app.inject({ method: 'OPTIONS', url: '/plain', headers })
    expect([existing.status, existing.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS'])
    expect(existing.headers).not.toHaveProperty('access-control-allow-origin')
    const unknown = await app.inject({ method: 'OPTIONS', url: '/nothing', headers })
    expect(unknown.status).toBe(404)
  })
})
