/** Responses that depend on their caller are not cached for other callers. Source: decisions, Operations. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  currentRequest,
  Database,
  Field,
  Get,
  Module,
  Record as Table,
  requestValue,
  Secured,
  Use,
  type RouteResponse,
  type Application,
  type HttpRequest,
  type Interceptor,
  type Next,
} from '../../src/index.js'
import { CacheFor, ETag } from '../../src/modules/cache/cache.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'

@Table
class Clerk {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('admin') @Field('integer') salary!: number
}

@Table
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

const tenant = requestValue<string>('tenant')

/** Stores the caller in a request value that a handler may read. */
class Tenant implements Interceptor {
  static readonly before = 'body'
  async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
    tenant.set(request, String(request.user?.sub))
    return next()
  }
}

/** Adds the caller to the response of the next one. */
class Greeting implements Interceptor {
  static readonly before = 'body'
  async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
    const name = String(request.user?.sub)
    const response = await next()
    response.headers.set('X-Name', name)
    return response
  }
}

let calls = 0
const here = (): HttpRequest => currentRequest()!

@Controller('/kept')
@Secured
class CachedController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/secured-field') @CacheFor('60s') clerk() {
    return this.database.records(Clerk).find(1)
  }
  @Get('/secured-field-in-data') @CacheFor('60s') async clerks() {
    return { list: await this.database.records(Clerk).list() }
  }
  @Get('/user') @CacheFor('60s') user() {
    return { sub: here().user?.sub }
  }
  @Get('/claims') @CacheFor('60s') claims() {
    return { sub: here().auth?.claims?.sub }
  }
  @Get('/cookies') @CacheFor('60s') cookies() {
    return { a: here().cookies.a }
  }
  @Get('/authorization') @CacheFor('60s') authorization() {
    return { a: here().headers.authorization }
  }
  @Get('/cookie-header') @CacheFor('60s') cookieHeader() {
    return { a: here().headers['cookie'] }
  }
  @Get('/custom-header') @CacheFor('60s') customHeader() {
    return { team: here().headers['x-team'] }
  }
  @Get('/node-host') @CacheFor('60s') nodeHost() {
    return { host: here().incoming.headers.host }
  }
  @Get('/all-headers') @CacheFor('60s') allHeaders() {
    return { ...here().headers }
  }
  @Get('/node-authorization') @CacheFor('60s') nodeAuthorization() {
    return { a: here().incoming.headers.authorization }
  }
  @Get('/raw-headers') @CacheFor('60s') rawHeaders() {
    return here().incoming.rawHeaders
  }
  @Get('/later') @CacheFor('60s') async afterQuery() {
    const request = here()
    await this.database.records(Lamp).find(1)
    return { sub: request.user?.sub }
  }
  @Get('/value') @Use(Tenant) @CacheFor('60s') value() {
    return { tenant: tenant.get(here()) }
  }
  @Get('/around') @CacheFor('60s') @Use(Greeting) around() {
    return { ok: true }
  }
  @Get('/by-user-and-cookie') @CacheFor('60s', { by: ['user'] }) byUserAndCookie() {
    return { a: here().cookies.a }
  }
  @Get('/with-etag') @ETag @CacheFor('60s') withTag() {
    return { sub: here().user?.sub }
  }
}

@Controller('/shared')
@Secured
class SharedController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/plain') @CacheFor('60s') plain() {
    return { calls: ++calls }
  }
  @Get('/accept') @CacheFor('60s') accept() {
    return { calls: ++calls, accept: here().headers.accept, path: here().path }
  }
  @Get('/node-accept') @CacheFor('60s') nodeAccept() {
    return { calls: ++calls, accept: here().incoming.headers.accept, ip: here().ip }
  }
  @Get('/lamps') @CacheFor('60s') async lamps() {
    return { calls: ++calls, lamps: await this.database.records(Lamp).list() }
  }
  @Get('/by-user') @CacheFor('60s', { by: ['user'] }) byUser() {
    return { calls: ++calls, sub: here().user?.sub }
  }
  @Get('/by-function') @CacheFor('60s', { by: [(request) => request.user?.sub] }) byFunction() {
    return { calls: ++calls, sub: here().user?.sub, a: here().cookies.a }
  }
}

@Module({ controllers: [CachedController, SharedController], records: [Clerk, Lamp] })
class AppModule {}

const lines: { level: string; message: string }[] = []
const log = (level: string) => (first: unknown, second?: unknown) =>
  void lines.push({ level, message: String(second ?? first) })
const logger = { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') }

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => {
  await server.close()
})

describe.each(['SQLite', 'PostgreSQL'])('cached responses on %s', (engine) => {
  let app: Application
  let boss: string
  let clerk: string

  beforeAll(async () => {
    const database = engine === 'SQLite' ? 'sqlite::memory:' : await server.createDatabase()
    app = await bootstrap(AppModule, { listen: false, env: {}, database, logger })
    const records = app.get(Database)
    await records.records(Clerk).create({ name: 'Ann', salary: 1007 })
    await records.records(Lamp).create({ name: 'Blue' })
    const auth = app.get(Auth)
    boss = await auth.getToken({ sub: 'boss', roles: ['admin'] })
    clerk = await auth.getToken({ sub: 'clerk' })
  })
  afterAll(() => app.close())

  const get = async (path: string, token: string) => {
    const name = token === boss ? 'boss' : 'clerk'
    const headers = { cookie: `a=${name}`, 'x-team': name, host: `${name}.example` }
    const response = await app.inject({ url: path, token, headers })
    return { status: response.status, body: response.body, name: response.headers['x-name'] }
  }

  it.each([
    ...['secured-field', 'secured-field-in-data', 'user', 'claims', 'cookies', 'authorization'],
    ...['cookie-header', 'all-headers', 'later', 'value', 'around', 'by-user-and-cookie'],
    ...['with-etag', 'node-authorization', 'raw-headers', 'custom-header', 'node-host'],
  ])(
    'Responses of /kept/%s are not shared between callers, and one warning names the route',
    async (name) => {
      lines.length = 0
      const first = await get(`/kept/${name}`, boss)
      const second = await get(`/kept/${name}`, clerk)
      expect([first.status, second.status]).toEqual([200, 200])
      if (name === 'by-user-and-cookie') {
        const other = await app.inject({ url: '/kept/by-user-and-cookie', token: clerk })
        expect(other.json()).toEqual({})
      }
      expect([second.body, second.name]).not.toEqual([first.body, first.name])
      expect(second.body).not.toContain('1007')
      await get(`/kept/${name}`, boss)
      const warnings = lines.filter(({ message }) => message.includes('@CacheFor on Cached'))
      expect(warnings.map(({ level }) => level)).toEqual(['warn'])
    },
  )

  it.each(['plain', 'accept', 'node-accept', 'lamps'])(
    'the response of /shared/%s is created once',
    async (name) => {
      lines.length = 0
      const first = await get(`/shared/${name}`, boss)
      expect(await get(`/shared/${name}`, clerk)).toEqual(first)
      expect(lines).toEqual([])
    },
  )

  it.each(['by-user', 'by-function'])(
    'the response of /shared/%s is cached for each',
    async (name) => {
      const [first, second] = [
        await get(`/shared/${name}`, boss),
        await get(`/shared/${name}`, clerk),
      ]
      expect(second.body).not.toBe(first.body)
      expect(await get(`/shared/${name}`, boss)).toEqual(first)
      expect(await get(`/shared/${name}`, clerk)).toEqual(second)
    },
  )
})
