/** The database stops and starts again. Source: decisions, Records: transactions. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  Secured,
  verifyPassword,
  type Application,
  type Claims,
  type InjectResponse,
  type Session,
} from 'filigree'
import { cheapHash } from '../auth/cheap-hash.js'
import { makePair } from '../auth/key-pair.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'

@Record
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
}

@Record({ rows: (claims: Claims | null) => ({ owner: claims?.sub ?? '' }) })
class Letter {
  @Field('id') id!: number
  @Field('string') owner!: string
}

@Record({ writes: false })
@Secured('admin')
class Person {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string', { hidden: true }) password!: string
}

@Controller('/books', { crud: Book })
class Books {}

@Controller('/letters', { crud: Letter })
class Letters {}

@Controller('/')
class AccountController {
  static inject = [Auth, Database]
  constructor(
    private readonly auth: Auth,
    private readonly database: Database,
  ) {}

  @Post('/sign-in') @NoAuth async signIn(body: unknown): Promise<unknown> {
    const { name, password } = body as { name: string; password: string }
    const [person] = await this.database.records(Person).list({ where: { name } })
    if (person === undefined || !(await verifyPassword(password, person.password)))
      throw new HttpError(401)
    return reply({ ok: true }).freshToken(await this.auth.getToken({ sub: name }))
  }
  @Post('/sign-out') async signOut(user: Claims): Promise<object> {
    return { first: await this.auth.revoke(user.jti ?? '') }
  }
  @Post('/sign-out-everywhere') async signOutAll(body: unknown): Promise<object> {
    await this.auth.revokeAll((body as { sub: string }).sub)
    return {}
  }
  @Get('/me') @Secured me(user: Claims | null): object {
    return { sub: user?.sub ?? null }
  }
  @Get('/perhaps') perhaps(user: Claims | null): object {
    return { sub: user?.sub ?? null }
  }
  @Get('/visits') visits(session: Session): object {
    session.visits = Number(session.visits ?? 0) + 1
    return { visits: session.visits }
  }
  @Get('/visited') visited(session: Session): object {
    if (session.visits === undefined) throw new HttpError(401)
    return { visits: session.visits }
  }
  @Post('/leave') @NoAuth leave(session: Session): object {
    session.destroy()
    return {}
  }
  @Get('/raw') async raw(): Promise<object> {
    return { rows: await this.database.kysely.selectFrom('book').selectAll().execute() }
  }
  @Get('/raw-transaction') async rawTransaction(): Promise<object> {
    const rows = await this.database.kysely
      .transaction()
      .execute((trx) => trx.selectFrom('book').selectAll().execute())
    return { rows }
  }
  @Get('/transaction') async transaction(): Promise<object> {
    return this.database.transaction(async (tx) => ({ count: await tx.records(Book).count() }))
  }
  @Post('/whole', { transaction: true }) @NoAuth inTransaction(): object {
    return {}
  }
  @Get('/plain') @Secured plain(): object {
    return { ok: true }
  }
}

@Module({ controllers: [Books, Letters, AccountController], records: [Book, Letter, Person] })
class AppModule {}

const apiKey = 'operator-0123456789abcdef'
const { privatePem } = makePair()
const text = 'The database is not available at the moment.'

let server: OwnPostgres
let app: Application
let auth: Auth
/** A token that was verified and cached before the database stops. */
let cachedToken: string
let cookie: string
let uncachedLimit = 10

beforeAll(async () => {
  server = await startOwnPostgres()
  app = await bootstrap(AppModule, {
    database: await server.createDatabase(),
    listen: false,
    logger: false,
    env: { APP_API_KEY: apiKey, APP_PRIVATE_KEY: privatePem },
  })
  auth = app.get(Auth)
  const database = app.get(Database)
  await database.records(Book).create({ title: 'One' })
  await database.records(Person).create({ name: 'ada', password: cheapHash('correct horse') })
})

afterAll(async () => {
  await app.close()
  await server.close()
})

interface RequestParts {
  readonly method?: string
  readonly token?: string
  readonly cookie?: string
  readonly json?: unknown
  readonly accept?: string
}

const send = (url: string, parts: RequestParts = {}): Promise<InjectResponse> => {
  const headers: { [name: string]: string } = {}
  if (parts.token !== undefined) headers.authorization = `Bearer ${parts.token}`
  if (parts.cookie !== undefined) headers.cookie = parts.cookie
  if (parts.accept !== undefined) headers.accept = parts.accept
  const { method = parts.json === undefined ? 'GET' : 'POST', json } = parts
  return app.inject({ method, url, headers, ...(json === undefined ? {} : { json }) })
}

const graphql = (query: string, parts: RequestParts = {}): Promise<InjectResponse> =>
  send('/graphql', { ...parts, json: { query } })

const freshToken = (): Promise<string> => auth.getToken({ sub: 'ada', roles: ['admin'] })

/** Requests that need the database, with their status while it runs. */
const requests: readonly (readonly [
  name: string,
  well: number,
  go: () => Promise<InjectResponse>,
])[] = [
  ['a list', 200, () => send('/books')],
  ['one row', 200, () => send('/books/1')],
  ['a list of rows that depend on the caller', 200, () => send('/letters', { token: cachedToken })],
  ['a create', 201, () => send('/books', { token: cachedToken, json: { title: 'Two' } })],
  [
    'an update',
    200,
    () => send('/books/1', { method: 'PATCH', token: cachedToken, json: { title: '1' } }),
  ],
  ['a delete', 404, () => send('/books/999', { method: 'DELETE', token: cachedToken })],
  ['a sign-in', 200, () => send('/sign-in', { json: { name: 'ada', password: 'correct horse' } })],
  [
    'a sign-out everywhere',
    200,
    () => send('/sign-out-everywhere', { token: apiKey, json: { sub: 'nobody' } }),
  ],
  ['a sign-out', 200, async () => send('/sign-out', { token: await freshToken(), json: {} })],
  ['a token that is not cached', 200, async () => send('/me', { token: await freshToken() })],
  [
    'an uncached token on a public route',
    200,
    async () => send('/perhaps', { token: await freshToken() }),
  ],
  [
    'an uncached token in GraphQL',
    200,
    async () => graphql('{ __typename }', { token: await freshToken() }),
  ],
  ['an existing session', 200, () => send('/visited', { cookie })],
  ['a new session', 200, () => send('/visits')],
  ['a statement of the application', 200, () => send('/raw')],
  ['a transaction of the query builder', 200, () => send('/raw-transaction')],
  ['a transaction', 200, () => send('/transaction')],
  ['a route in a transaction', 200, () => send('/whole', { json: {} })],
  ['a query', 200, () => graphql('{ books { title } }')],
  ['a query of two fields', 200, () => graphql('{ a: books { title } book(id: 1) { id } }')],
  [
    'a query whose document is not cached',
    200,
    () => graphql(`{ books(limit: ${++uncachedLimit}) { id title } }`),
  ],
  ['a query by GET', 200, () => send('/graphql?query={books{title}}')],
  [
    'a query in the new media type',
    200,
    () => graphql('{ books { title } }', { accept: 'application/graphql-response+json' }),
  ],
  [
    'a query over an event stream',
    200,
    () => graphql('{ books { title } }', { accept: 'text/event-stream' }),
  ],
  [
    'a mutation',
    200,
    () => graphql('mutation { createBook(input: { title: "B" }) { id } }', { token: cachedToken }),
  ],
  [
    'two mutations',
    200,
    () =>
      graphql(
        'mutation { a: createBook(input: { title: "B" }) { id } b: createBook(input: { title: "C" }) { id } }',
        { token: cachedToken },
      ),
  ],
]

describe('a stopped database', () => {
  beforeEach(async () => {
    cachedToken = await freshToken()
    expect((await send('/me', { token: cachedToken })).status).toBe(200)
    const visit = await send('/visits')
    cookie = visit.headers['set-cookie']?.split(';')[0] ?? ''
  })

  it('makes every request that needs it 503 with Retry-After, until it runs again', async () => {
    const statuses = async (): Promise<unknown> => {
      const statusByName: { [name: string]: number } = {}
      for (const [name, , go] of requests) statusByName[name] = (await go()).status
      return statusByName
    }
    const well = Object.fromEntries(requests.map(([name, status]) => [name, status]))
    expect(await statuses()).toEqual(well)
    await server.stop()
    try {
      for (const [name, , go] of requests) {
        const { status, headers, body } = await go()
        const { error } = JSON.parse(body) as { error: string }
        const retry = headers['retry-after']
        expect({ name, status, retry, error }).toEqual({
          name,
          status: 503,
          retry: '1',
          error: text,
        })
        expect(headers['www-authenticate']).toBeUndefined()
        expect(headers['set-cookie']).toBeUndefined()
      }
    } finally {
      await server.start()
    }
    cachedToken = await freshToken()
    expect(await statuses()).toEqual(well)
  })

  it('is reported in the GraphQL entry, and requests without database still work', async () => {
    await server.stop()
    try {
      const answer = await graphql('{ books { title } }')
      expect(answer.json()).toMatchObject({
        error: text,
        data: { books: null },
        errors: [{ message: text, path: ['books'], extensions: { code: 'DATABASE_UNAVAILABLE' } }],
      })
      expect((await send('/plain', { token: apiKey })).json()).toEqual({ ok: true })
      expect((await send('/plain', { token: cachedToken })).json()).toEqual({ ok: true })
      expect((await send('/plain')).status).toBe(401)
      expect((await send('/plain', { token: 'e30.e30.e30' })).status).toBe(401)
      expect((await graphql('{ __typename }')).status).toBe(200)
    } finally {
      await server.start()
    }
  })

  it('does not end a session, which can be ended once it runs again', async () => {
    await server.stop()
    try {
      // A request with a cookie has to read the session first.
      const answer = await send('/leave', { method: 'POST', cookie })
      expect([answer.status, answer.headers['set-cookie']]).toEqual([503, undefined])
    } finally {
      await server.start()
    }
    expect((await send('/visited', { cookie })).json()).toEqual({ visits: 1 })
    expect((await send('/leave', { method: 'POST', cookie })).status).toBe(200)
    expect((await send('/visited', { cookie })).status).toBe(401)
  })

  it('makes a subscription 503', async () => {
    await server.stop()
    try {
      const answer = await graphql('subscription { bookChanged { id } }', {
        accept: 'text/event-stream',
      })
      expect(answer.status).toBe(503)
      expect(answer.headers['retry-after']).toBe('1')
      expect(answer.json()).toMatchObject({
        error: text,
        errors: [{ path: ['bookChanged'], extensions: { code: 'DATABASE_UNAVAILABLE' } }],
      })
    } finally {
      await server.start()
    }
  })
})
