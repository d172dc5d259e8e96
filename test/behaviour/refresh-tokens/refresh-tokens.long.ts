/** The code of docs/authentication.md, "Refresh tokens", unchanged, in one and in two applications. */
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Database,
  Get,
  Module,
  Post,
  Secured,
  type Application,
  type AuthOptions,
  type Claims,
  type InjectResponse,
} from 'filigree'
import { sql } from 'kysely'
import { cheapHash } from '../../auth/cheap-hash.js'
import { makePair } from '../../auth/key-pair.js'
import { reusing } from '../../records/both-engines.js'
import { startPostgres } from '../../records/postgres-server.js'
import { ProcessClock } from '../several-processes.js'
import { SignIn } from './sign-in.js'
import { Account, Users } from './users.js'

@Controller('/')
class Site {
  @Get('/me') @Secured me(user: Claims): object {
    return { sub: user.sub, roles: user.roles }
  }
  @Get('/perhaps') perhaps(user: Claims | null): object {
    return { sub: user?.sub ?? null }
  }
  @Post('/notes') note(): object {
    return {}
  }
}

@Module({ controllers: [SignIn, Site], providers: [Users], records: [Account] })
class AppModule {}

const server = await startPostgres()
afterAll(() => server.close())
const { privatePem } = makePair()
const env = { APP_PRIVATE_KEY: privatePem }
const password = cheapHash('correct horse')

let apps: Application[] = []
let app: Application
let other: Application
afterEach(async () => {
  for (const one of apps.splice(0)) await one.close()
})

const clock = new ProcessClock()
const start = (database: string, auth?: AuthOptions): Promise<Application> =>
  bootstrap(AppModule, {
    database,
    listen: false,
    logger: false,
    env,
    // Both tokens of a pair are issued in the same second.
    override: [[Clock, clock]],
    ...(auth === undefined ? {} : { auth }),
  })

interface Pair {
  readonly access: string
  readonly refreshToken: string
}

const post = (one: Application, url: string, json: unknown): Promise<InjectResponse> =>
  one.inject({ url, json })
const refresh = (one: Application, refreshToken: string): Promise<InjectResponse> =>
  post(one, '/session/refresh', { refreshToken })
const toPair = (answer: InjectResponse): Pair => {
  expect(answer.status).toBe(200)
  expect(answer.headers['cache-control']).toBe('private, no-store')
  const { refreshToken } = answer.json() as { refreshToken: string }
  return { access: answer.headers.freshtoken ?? '', refreshToken }
}
const signIn = async (): Promise<Pair> =>
  toPair(await post(app, '/session', { name: 'ada', password: 'correct horse' }))
const statusOf = async (
  one: Application,
  url: string,
  token: string,
  method = 'GET',
): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await one.inject({ method, url, headers })).status
}

/** Moves the exchanges so far one minute into the past. */
const longAgo = async (): Promise<void> => {
  const { kysely } = app.get(Database)
  await sql`update filigree_replaced_token set at = at - 60000`.execute(kysely)
}

describe.each([
  ['without an audience', {}],
  ['with an audience', { audience: 'shop', issuer: 'shop' }],
] as const)('refresh tokens, %s', (_name, options) => {
  const openEmpty = reusing(() => server.createDatabase())
  beforeEach(async () => {
    const database = await openEmpty()
    apps = [await start(database, options), await start(database, options)]
    ;[app, other] = apps as [Application, Application]
    await app
      .get(Database)
      .records(Account)
      .create({ name: 'ada', password, roles: ['editor'] })
  })

  it('are handed out for a password, and a wrong name gets the same response as a wrong password', async () => {
    const { access } = await signIn()
    expect(await statusOf(app, '/me', access)).toBe(200)
    for (const body of [
      { name: 'ada', password: 'wrong' },
      { name: 'nobody', password: 'correct horse' },
    ]) {
      const { status, body: text } = await post(app, '/session', body)
      expect([status, text]).toEqual([
        401,
        '{"error":"Wrong name or password.","code":"UNAUTHENTICATED"}',
      ])
    }
  })

  it('are refused by every route', async () => {
    const { refreshToken } = await signIn()
    expect(await statusOf(app, '/me', refreshToken)).toBe(401)
    expect(await statusOf(app, '/perhaps', refreshToken)).toBe(401)
    expect(await statusOf(app, '/notes', refreshToken, 'POST')).toBe(401)
    expect(await statusOf(app, '/session/end', refreshToken, 'POST')).toBe(401)
    expect(await statusOf(app, '/graphql?query={__typename}', refreshToken)).toBe(401)
  })

  it('give new pairs in every process, with the current roles', async () => {
    const first = await signIn()
    await app
      .get(Database)
      .records(Account)
      .update(1, { roles: ['admin'] })
    const second = toPair(await refresh(other, first.refreshToken))
    const claims = await app.get(Auth).verify(second.access)
    const before = await app.get(Auth).verify(first.access)
    expect(claims).toMatchObject({ sub: '1', roles: ['admin'], jti: before?.jti })
    expect(claims?.auth_time).toBe(before?.auth_time)
    expect(toPair(await refresh(app, second.refreshToken)).refreshToken).not.toBe('')
  })

  it('that are repeated after a lost response give the same pair in every process', async () => {
    const { refreshToken } = await signIn()
    const second = toPair(await refresh(app, refreshToken))
    for (const one of [app, other]) expect(toPair(await refresh(one, refreshToken))).toEqual(second)
    expect(await statusOf(other, '/me', second.access)).toBe(200)
    const third = toPair(await refresh(other, second.refreshToken))
    expect(third.refreshToken).not.toBe(second.refreshToken)
  })

  it('that are used again later end the sign-in and revoke all of its tokens', async () => {
    const first = await signIn()
    const another = await signIn()
    const second = toPair(await refresh(app, first.refreshToken))
    await longAgo()
    expect((await refresh(other, first.refreshToken)).status).toBe(401)
    expect((await refresh(app, second.refreshToken)).status).toBe(401)
    for (const token of [first.access, second.access])
      expect(await statusOf(other, '/me', token)).toBe(401)
    expect(await statusOf(app, '/me', another.access)).toBe(200)
    expect((await refresh(other, another.refreshToken)).status).toBe(200)
  })

  it('that are used by many requests at the same time give the same pair', async () => {
    const { refreshToken } = await signIn()
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        refresh(index % 2 === 0 ? app : other, refreshToken),
      ),
    )
    const pairs = answers.map(toPair)
    expect(new Set(pairs.map((pair) => JSON.stringify(pair))).size).toBe(1)
    expect(await statusOf(app, '/me', pairs[0]?.access ?? '')).toBe(200)
  })

  it('are not readable in the table', async () => {
    const { refreshToken } = await signIn()
    const { access } = toPair(await refresh(app, refreshToken))
    const rows = await app
      .get(Database)
      .kysely.selectFrom('filigree_replaced_token')
      .selectAll()
      .execute()
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(access.slice(0, 30))
  })

  it('end with the sign-out, with revokeAll, and for a blocked account', async () => {
    const out = await signIn()
    expect(await statusOf(app, '/session/end', out.access, 'POST')).toBe(204)
    expect((await refresh(other, out.refreshToken)).status).toBe(401)
    const all = await signIn()
    await app.get(Auth).revokeAll('1')
    expect((await refresh(other, all.refreshToken)).status).toBe(401)
    await app.get(Database).records(Account).update(1, { blocked: true })
    expect((await post(app, '/session', { name: 'ada', password: 'correct horse' })).status).toBe(
      401,
    )
  })

  it('are not given for access tokens, forged tokens and tokens of other audiences', async () => {
    const { access } = await signIn()
    const auth = app.get(Auth)
    const elsewhere = await auth.getToken({ sub: '1', once: 'x' }, { audience: 'other' })
    for (const token of [access, elsewhere, 'e30.e30.e30', ''])
      expect((await refresh(app, token)).status).toBe(401)
    expect((await post(app, '/session/refresh', { refreshToken: 7 })).status).toBe(400)
  })
})

it('the documentation shows the tested code', async () => {
  const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8')
  const [, code] = /docs: begin\n([^]*)\/\/ docs: end/.exec(await read('./sign-in.ts')) ?? []
  expect(code).toContain('class SignIn')
  expect(await read('../../../docs/authentication.md')).toContain(code)
})
