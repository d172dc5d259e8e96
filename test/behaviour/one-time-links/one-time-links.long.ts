/** The three examples of docs/one-time-links.md, unchanged, with caught mail. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Auth, Controller, Database, Get, Module, Secured, verifyPassword } from 'filigree'
import { jobs } from 'filigree/jobs'
import { mail } from 'filigree/mail'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'
import { confirmations, invitations, Links, Member, ResetMail, resets } from './links.js'

@Controller('/')
class Site {
  @Get('/me') @Secured me(): object {
    return {}
  }
}

@Module({
  controllers: [Links, Site],
  providers: [ResetMail, invitations, resets, confirmations],
  records: [Member],
  imports: [jobs({ work: true }), mail({ from: 'desk@example.com' })],
})
class DeskModule {}

describe.each(['SQLite', 'PostgreSQL'])('one-time links on %s', (engine) => {
  let server: PostgresServer | undefined
  let desk: TestApplication

  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    desk = await testApplication(DeskModule, {
      publicUrl: 'https://desk.example',
      ...(server === undefined ? {} : { database: await server.createDatabase() }),
    })
  })
  beforeEach(() => desk.reset({ emptyTables: true }))
  afterAll(async () => {
    await desk.close()
    await server?.close()
  })

  const post = (url: string, json: object, token = ''): Promise<{ status: number; body: string }> =>
    desk.app.inject({
      ...{ method: 'POST', url, json },
      headers: {
        ...{ host: 'evil.example', 'x-forwarded-host': 'evil.example' },
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
    })
  const statusOf = async (url: string, json: object, token?: string): Promise<number> =>
    (await post(url, json, token)).status
  /** The token of the link in the last mail. */
  const readMailedToken = async (to: string, path: string): Promise<string> => {
    await desk.jobs.run()
    const last = desk.mail.at(-1)
    expect(last?.to).toEqual([to])
    const [, token] = new RegExp(`^https://desk\\.example${path}\\?token=([\\w-]{43})$`).exec(
      last?.text ?? '',
    ) as RegExpExecArray
    return token ?? ''
  }
  const statementsFor = async (email: string): Promise<string[]> => {
    const before = desk.statements.length
    await post('/reset/mail', { email })
    return desk.statements.slice(before).map(({ sql }) => sql)
  }
  const tokenFor = (sub: string, roles: string[] = []): Promise<string> =>
    desk.app.get(Auth).getToken({ sub, roles })
  const members = () => desk.app.get(Database).records(Member)
  const password = 'correct horse battery'
  const join = async (email: string): Promise<void> => {
    await post('/invitations', { email }, await tokenFor('0', ['admin']))
    expect(
      await statusOf('/join', { token: await readMailedToken(email, '/join'), password }),
    ).toBe(201)
  }

  it('an invitation works once, and a later one replaces it', async () => {
    const admin = await tokenFor('0', ['admin'])
    const email = 'ada@example.com'
    expect(await statusOf('/invitations', { email }, await tokenFor('1'))).toBe(403)
    await post('/invitations', { email }, admin)
    const first = await readMailedToken(email, '/join')
    await post('/invitations', { email }, admin)
    const second = await readMailedToken(email, '/join')
    expect(await statusOf('/join', { token: first, password })).toBe(400)
    expect(await statusOf('/join', { token: second, password: 'short' })).toBe(400)
    expect(await statusOf('/join', { token: second, password })).toBe(201)
    expect(await statusOf('/join', { token: second, password })).toBe(400)
    expect(await members().list()).toMatchObject([{ email, confirmed: true }])
  })

  it('a reset changes the password, ends all sign-ins, and does not show whether an address exists', async () => {
    await join('ada@example.com')
    const [{ id } = { id: 0 }] = await members().list()
    const devices = [await tokenFor(String(id)), await tokenFor(String(id))]
    const me = async (token: string): Promise<number> =>
      (await desk.app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })).status
    for (const token of devices) expect(await me(token)).toBe(200)
    expect(await desk.app.get(Auth).signIns(String(id))).toHaveLength(2)

    const existing = await post('/reset/mail', { email: 'ada@example.com' })
    const token = await readMailedToken('ada@example.com', '/reset')
    const count = desk.mail.length
    const unknown = await post('/reset/mail', { email: 'eve@example.com' })
    await desk.jobs.run()
    expect([unknown.status, unknown.body]).toEqual([existing.status, existing.body])
    expect(desk.mail.length).toBe(count)
    // The statements before the response are the same too.
    const [one, other] = [
      await statementsFor('ada@example.com'),
      await statementsFor('eve@example.com'),
    ]
    expect([one.length > 0, other]).toEqual([true, one])

    const tries = await Promise.all(
      Array.from({ length: 2 }, () => statusOf('/reset', { token, password: 'another password' })),
    )
    expect(tries.sort()).toEqual([204, 400])
    for (const old of devices) expect(await me(old)).toBe(401)
    expect(await desk.app.get(Auth).signIns(String(id))).toEqual([])
    const [member] = await members().list()
    expect(await verifyPassword('another password', member?.password)).toBe(true)
  })

  it('a reset expires after half an hour', async () => {
    await join('ada@example.com')
    await post('/reset/mail', { email: 'ada@example.com' })
    const token = await readMailedToken('ada@example.com', '/reset')
    await desk.clock.advance('30m')
    expect(await statusOf('/reset', { token, password })).toBe(400)
  })

  it('a new address is stored once it is confirmed, and a token works only for its purpose', async () => {
    await join('ada@example.com')
    const [{ id } = { id: 0 }] = await members().list()
    await post('/email', { email: 'ada@new.example' }, await tokenFor(String(id)))
    const token = await readMailedToken('ada@new.example', '/confirm')
    expect((await members().find(id))?.email).toBe('ada@example.com')
    expect(await statusOf('/reset', { token, password })).toBe(400)
    expect(await statusOf('/confirm', { token })).toBe(204)
    expect(await statusOf('/confirm', { token })).toBe(400)
    expect((await members().find(id))?.email).toBe('ada@new.example')
  })
})

it('the documentation shows the tested code', async () => {
  const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8')
  const [, code] = /docs: begin\n([^]*)\/\/ docs: end/.exec(await read('./links.ts')) ?? []
  expect(code).toContain('class Links')
  expect(await read('../../../docs/one-time-links.md')).toContain(code)
})
