/** `auth.signIns`: the devices on which a user is signed in. Source: decisions, Tokens. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  Controller,
  Database,
  Get,
  Secured,
  type Application,
  type Claims,
  type SignInEntry,
} from 'filigree'
import { engines, Processes } from './several-processes.js'
import { waitUntil } from '../wait-until.js'

@Controller('/')
class Site {
  @Get('/me') @Secured me(user: Claims): object {
    return { sub: user.sub }
  }
}
const processes = await Processes.open()
const advance = (seconds: number): void => {
  processes.advance(seconds)
}
afterAll(() => processes.close())

let app: Application
let auth: Auth
afterEach(() => processes.stop())

const start = async (engine: 'memory' | (typeof engines)[number]): Promise<void> => {
  await processes.start(engine, [Site], { trustProxy: true })
  app = processes.first
  auth = app.get(Auth)
}

const use = async (
  token: string,
  headers: Record<string, string> = {},
  one = app,
): Promise<number> => {
  const { status } = await one.inject({
    url: '/me',
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  return status
}

/** Uses the token, and waits until the use is stored, which happens after the response. */
const useAs = async (
  agent: string,
  token: string,
  {
    storedAgent = agent,
    by = app,
    ip,
  }: { storedAgent?: string; by?: Application; ip?: string } = {},
): Promise<void> => {
  const headers = { 'user-agent': agent, ...(ip !== undefined && { 'x-forwarded-for': ip }) }
  expect(await use(token, headers, by)).toBe(200)
  await waitUntil(async () => (await auth.signIns('7')).some((one) => one.agent === storedAgent))
}

const only = async (): Promise<SignInEntry> => {
  const all = await auth.signIns('7')
  expect(all).toHaveLength(1)
  return all[0] as SignInEntry
}

describe.each(['memory', ...engines] as const)('sign-ins stored in %s', (engine) => {
  beforeEach(() => start(engine))

  it('exist from getToken on, with the agent and address of the last use', async () => {
    const token = await auth.getToken({ sub: '7' })
    const claims = await auth.verify(token)
    expect(await only()).toEqual({
      id: claims?.jti,
      since: new Date(Number(claims?.auth_time) * 1000),
      last: expect.any(Date),
      agent: null,
      address: null,
    })
    await useAs('Phone', token, { ip: '203.0.113.7' })
    expect(await only()).toMatchObject({ agent: 'Phone', address: '203.0.113.7' })
    expect(await auth.signIns('8')).toEqual([])
  })

  it('are written at most once a minute', async () => {
    const token = await auth.getToken({ sub: '7' })
    await useAs('First', token)
    const { last } = await only()
    advance(50)
    await use(token, { 'user-agent': 'Second' })
    expect(await only()).toMatchObject({ agent: 'First', last })
    advance(20)
    await useAs('Third', token)
    const updated = await only()
    expect(updated.last.getTime() - last.getTime()).toBeGreaterThanOrEqual(60_000)
  })

  it('stay the same when the token rotates, and end when the last token expires', async () => {
    const token = await auth.getToken({ sub: '7' })
    const { id, since } = await only()
    advance(2000)
    const answer = await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
    const next = answer.headers.freshtoken ?? ''
    advance(1000)
    expect(await use(next)).toBe(200)
    expect(await only()).toMatchObject({ id, since })
    advance(3600)
    expect(await auth.signIns('7')).toEqual([])
  })

  it('can be revoked one by one and all together', async () => {
    const [one = '', two = '', three = ''] = await Promise.all(
      [1, 2, 3].map(() => auth.getToken({ sub: '7' })),
    )
    await useAs('One', one)
    const all = await auth.signIns('7')
    expect(all).toHaveLength(3)
    const mine = all.find(({ agent }) => agent === 'One')
    await auth.revoke(mine?.id ?? '')
    expect(await use(one)).toBe(401)
    expect([await use(two), await use(three)]).toEqual([200, 200])
    expect(await auth.signIns('7')).toHaveLength(2)
    await auth.revokeAll('7')
    expect([await use(two), await use(three)]).toEqual([401, 401])
    expect(await auth.signIns('7')).toEqual([])
  })

  it('are ordered by last use, without tokens for other audiences', async () => {
    await auth.getToken({ sub: '7' }, { audience: 'mail' })
    const one = await auth.getToken({ sub: '7', jti: 'one' })
    const two = await auth.getToken({ sub: '7', jti: 'two' })
    advance(61)
    await useAs('Two', two)
    advance(1)
    await useAs('One', one)
    expect((await auth.signIns('7')).map(({ id }) => id)).toEqual(['one', 'two'])
  })

  it('store shortened headers without control characters, and refuse an invalid sub', async () => {
    const token = await auth.getToken({ sub: '7' })
    const agent = `<b>'; drop table x; --\u0085${'a'.repeat(5000)}`
    await useAs(agent, token, {
      storedAgent: agent.slice(0, 255).replace('\u0085', ''),
      ip: `fe80::1%${'z'.repeat(9000)}`,
    })
    expect(((await only()).address ?? '').length).toBeLessThanOrEqual(64)
    for (const sub of ['', undefined as never, 7 as never])
      await expect(auth.signIns(sub)).rejects.toThrow('Auth.signIns: sub is not text.')
    expect(await auth.signIns('__proto__')).toEqual([])
  })
})

describe.each(engines)('sign-ins of several processes, on %s', (engine) => {
  beforeEach(() => start(engine))

  it('are shared by all processes, and end in all within five seconds', async () => {
    const other = processes.second
    const token = await auth.getToken({ sub: '7' })
    await useAs('Phone', token, { by: other })
    const { id } = await only()
    await auth.revoke(id)
    advance(5)
    expect(await use(token, {}, other)).toBe(401)
    expect(await other.get(Auth).signIns('7')).toEqual([])
  })

  it('are part of the open transaction', async () => {
    const database = app.get(Database)
    let token = ''
    await expect(
      database.transaction(async () => {
        token = await auth.getToken({ sub: '7' })
        expect(await auth.signIns('7')).toHaveLength(1)
        throw new Error('back')
      }),
    ).rejects.toThrow('back')
    expect(await auth.signIns('7')).toEqual([])
    await useAs('Phone', token)
    const { id } = await only()
    await expect(
      database.transaction(async () => {
        await auth.revokeAll('7')
        await auth.revoke(id)
        expect(await auth.signIns('7')).toEqual([])
        throw new Error('back')
      }),
    ).rejects.toThrow('back')
    expect(await only()).toMatchObject({ id })
    expect(await use(token)).toBe(200)
  })
})
