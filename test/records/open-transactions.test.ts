/**
 * Data that the framework stores, such as revoked tokens, is part of the open transaction: it needs no second connection, and a
 * rollback undoes it. Source: decisions, Records: transactions.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  events,
  Field,
  Get,
  GraphQL,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  Secured,
  type Application,
} from 'filigree'
import { startBothEngines } from './both-engines.js'

@Record
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

/** What a route should do with tokens. */
interface TokenJob {
  readonly jti?: string
  readonly sub?: string
  readonly token?: string
  readonly fails?: boolean
}
class Job implements TokenJob {
  @Field('string', { optional: true }) jti?: string
  @Field('string', { optional: true }) sub?: string
  @Field('string', { optional: true }) token?: string
  @Field('boolean', { default: false }) fails!: boolean
}

class Tokens {
  static readonly inject = [Auth, Database]
  constructor(
    private readonly auth: Auth,
    private readonly database: Database,
  ) {}

  /** Revokes the named tokens, verifies the given token and creates a note. */
  async run({ jti, sub, token, fails }: TokenJob): Promise<{ first: unknown; verified: unknown }> {
    const first = jti === undefined ? undefined : await this.auth.revoke(jti)
    if (sub !== undefined) await this.auth.revokeAll(sub)
    const verified =
      token === undefined ? undefined : ((await this.auth.verify(token))?.jti ?? null)
    await this.database.records(Note).create({ text: jti ?? sub ?? 'note' })
    if (fails === true) throw new HttpError(418, 'rolled back')
    return { first, verified }
  }

  /** Runs in a nested transaction that rolls back, inside a transaction that commits. */
  async part(job: TokenJob): Promise<{ ok: boolean }> {
    return this.database.transaction(async (tx) => {
      await tx.transaction(() => this.run({ ...job, fails: true })).catch(() => undefined)
      return { ok: true }
    })
  }

  inKysely(job: TokenJob): Promise<unknown> {
    return this.database.kysely.transaction().execute(async (trx) => {
      await trx.insertInto('note').values({ text: 'trx' }).execute()
      return this.run(job)
    })
  }
}

@Controller('/')
@NoAuth
class TokenController {
  static readonly inject = [Tokens, Database]
  constructor(
    private readonly tokens: Tokens,
    private readonly database: Database,
  ) {}

  @Post('/route', { body: Job, transaction: true }) route(body: Job) {
    return this.tokens.run(body)
  }
  @Post('/database', { body: Job }) inDatabase(body: Job) {
    return this.database.transaction(() => this.tokens.run(body))
  }
  @Post('/nested', { body: Job, transaction: true }) nested(body: Job) {
    return this.database.transaction((tx) => tx.transaction(() => this.tokens.run(body)))
  }
  @Post('/kysely', { body: Job }) kysely(body: Job) {
    return this.tokens.inKysely(body)
  }
  @Post('/kysely-within', { body: Job, transaction: true }) kyselyWithin(body: Job) {
    return this.tokens.inKysely(body)
  }
  @Post('/part', { body: Job }) part(body: Job) {
    return this.tokens.part(body)
  }
  @Get('/me') @Secured me() {
    return { ok: true }
  }
  @Get('/stream') @Secured stream() {
    return events(silence())
  }
}

/** Sends one event, then none. */
async function* silence(): AsyncGenerator<string> {
  yield 'started'
  await new Promise(() => undefined)
}

const graphql = new GraphQL()
graphql.schema.addQuery('ok', { type: 'Boolean', resolve: () => true }).addMutation('job', {
  type: 'String',
  noAuth: true,
  args: { jti: 'String', sub: 'String', token: 'String', fails: 'Boolean' },
  resolve: async (_parent, args) => {
    const job: TokenJob = args
    const response = await current.app
      .get(Database)
      .transaction(() => current.app.get(Tokens).run(job))
    return JSON.stringify(response)
  },
})
graphql.registerRoute('/graphql')

@Module({
  controllers: [TokenController],
  providers: [Tokens],
  records: [Note],
  graphql: [graphql],
})
class Desk {}

const current: { app: Application } = { app: undefined as never }

const routes = ['/route', '/database', '/nested', '/kysely', '/kysely-within', '/graphql']

describe.each(await startBothEngines())('%s: framework data in an open transaction', (_n, open) => {
  let app: Application
  let count = 0

  beforeAll(async () => {
    const url = await open()
    current.app = app = await bootstrap(Desk, {
      database: url,
      port: 0,
      host: '127.0.0.1',
      logger: false,
    })
  })
  afterAll(() => app.close())

  const signIn = async (): Promise<{ jti: string; sub: string; token: string }> => {
    const jti = `token ${++count}`
    const sub = `user ${count}`
    const token = await app.get(Auth).getToken({ jti, sub })
    return { jti, sub, token }
  }
  const statusWith = async (token: string): Promise<number> =>
    (await app.inject({ url: '/me', token })).status

  const send = async (route: string, job: TokenJob): Promise<{ status: number; body: unknown }> => {
    const query =
      'mutation ($jti: String, $sub: String, $token: String, $fails: Boolean) { job(jti: $jti, sub: $sub, token: $token, fails: $fails) }'
    const json = route === '/graphql' ? { query, variables: job } : job
    const response = await app.inject({ method: 'POST', url: route, json })
    if (route !== '/graphql') return { status: response.status, body: response.json() }
    const { data, errors } = response.json() as { data: { job: string } | null; errors?: unknown[] }
    return errors === undefined
      ? { status: 200, body: JSON.parse(data?.job ?? 'null') as unknown }
      : { status: 418, body: undefined }
  }

  describe.each(routes)('%s', (route) => {
    it('revoke joins the transaction, and verify sees it immediately', async () => {
      const { jti, token } = await signIn()
      expect(await statusWith(token)).toBe(200)
      expect(await send(route, { jti, token })).toEqual({
        status: 200,
        body: { first: true, verified: null },
      })
      expect(await statusWith(token)).toBe(401)
      expect(await app.get(Auth).revoke(jti)).toBe(false)
    })

    it('revokeAll joins the transaction', async () => {
      const { sub, token } = await signIn()
      expect(await statusWith(token)).toBe(200)
      expect((await send(route, { sub, token })).body).toEqual({ verified: null })
      expect(await statusWith(token)).toBe(401)
    })

    it('a rollback undoes everything', async () => {
      const { jti, sub, token } = await signIn()
      expect(await statusWith(token)).toBe(200)
      expect((await send(route, { jti, sub, token, fails: true })).status).toBe(418)
      expect(await statusWith(token)).toBe(200)
      expect(await app.get(Database).records(Note).count({ text: jti })).toBe(0)
      expect(await app.get(Auth).revoke(jti)).toBe(true)
    })

    it('more requests than connections do not block each other', async () => {
      const jobs = await Promise.all(Array.from({ length: 24 }, signIn))
      const responses = await Promise.all(jobs.map(({ jti, token }) => send(route, { jti, token })))
      expect(responses.map(({ status }) => status)).toEqual(jobs.map(() => 200))
    })
  })

  it('a nested rollback undoes only its own part', async () => {
    const { jti, sub, token } = await signIn()
    expect(await send('/part', { jti, sub })).toEqual({ status: 200, body: { ok: true } })
    expect(await statusWith(token)).toBe(200)
  })

  it.each([
    ['committed', false, false, ['outer committed', 'part committed']],
    ['rolled back in part', true, false, ['part rolled back', 'outer committed']],
    ['rolled back', false, true, ['outer rolled back', 'part rolled back']],
  ])(
    'packages are notified of the outcome: %s',
    async (_what, partFails, fails, expectedEvents) => {
      const database = app.get(Database)
      const reported: string[] = []
      const follow = (name: string): void => {
        database.openTransaction()?.onCommit(() => reported.push(`${name} committed`))
        database.openTransaction()?.onRollback(() => reported.push(`${name} rolled back`))
      }
      expect(database.openTransaction()).toBeUndefined()
      const work = database.transaction(async (tx) => {
        follow('outer')
        const part = tx.transaction(() => {
          follow('part')
          return partFails ? Promise.reject(new Error('part')) : Promise.resolve()
        })
        await part.catch(() => undefined)
        if (fails) throw new Error('outer')
      })
      await work.catch(() => undefined)
      expect(reported).toEqual(expectedEvents)
      expect(database.openTransaction()).toBeUndefined()
    },
  )

  it('streams end with the commit, and not with a rollback', async () => {
    const { jti, token } = await signIn()
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const stream = await fetch(`${app.url}/stream`, { headers })
    let isOver = false
    const text = stream.text().finally(() => (isOver = true))
    await send('/route', { jti, fails: true })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    await send('/route', { jti })
    expect(await text).toContain('started')
  })
})
