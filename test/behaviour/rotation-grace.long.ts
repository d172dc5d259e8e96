/** `auth: { rotation }`: what a replaced token can still do. Source: decisions, Tokens. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  Controller,
  Database,
  Get,
  Post,
  Secured,
  type Application,
  type AuthOptions,
  type Claims,
  type InjectResponse,
} from 'filigree'
import { engines, Processes } from './several-processes.js'

@Controller('/')
class Site {
  @Get('/me') @Secured me(user: Claims): object {
    return { sub: user.sub, renewals: user.renewals }
  }
  @Post('/notes') note(): object {
    return {}
  }
}

const processes = await Processes.open()
const { clocks } = processes
const advance = (seconds: number): void => {
  processes.advance(seconds)
}
afterAll(() => processes.close())

let apps: readonly [Application, Application]
let renewals = 0
afterEach(() => processes.stop())

const renew = async (claims: Claims): Promise<Claims> => {
  const number = ++renewals
  await new Promise((resolve) => setImmediate(resolve))
  return { ...claims, renewals: number }
}

const start = async (engine: (typeof engines)[number], auth: AuthOptions): Promise<void> => {
  renewals = 0
  await processes.start(engine, [Site], { auth })
  apps = [processes.first, processes.second]
}

const requestMe = (app: Application, token: string): Promise<InjectResponse> =>
  app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
const statusOf = async (app: Application, token: string): Promise<number> =>
  (await requestMe(app, token)).status
const signIn = (): Promise<string> => apps[0].get(Auth).getToken({ sub: '7' })
const half = 1801

describe.each(engines)('a replaced token, on %s', (engine) => {
  describe("with { grace: '30s', reuse: 'end' }", () => {
    beforeEach(() => start(engine, { renew, rotation: { grace: '30s', reuse: 'end' } }))

    it('gets one successor for fifty concurrent requests in two processes', async () => {
      const token = await signIn()
      advance(half)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => requestMe(apps[index % 2 === 0 ? 0 : 1], token)),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      const fresh = new Set(answers.map(({ headers }) => headers.freshtoken))
      expect(fresh.size).toBe(1)
      expect([...fresh][0]).toBeDefined()
      expect(renewals).toBeLessThanOrEqual(2)
      const [next = ''] = [...fresh]
      for (const app of apps) expect(await statusOf(app, next)).toBe(200)
    })

    it('works during the grace time with the same successor, and ends the sign-in after it', async () => {
      const token = await signIn()
      advance(half)
      const next = (await requestMe(apps[0], token)).headers.freshtoken ?? ''
      for (const seconds of [0, 10, 10, 9]) {
        advance(seconds)
        for (const app of apps) {
          const { status, headers } = await requestMe(app, token)
          expect([status, headers.freshtoken]).toEqual([200, next])
        }
      }
      expect(renewals).toBe(1)
      expect(await statusOf(apps[1], next)).toBe(200)
      advance(2)
      expect(await statusOf(apps[1], token)).toBe(401)
      advance(5)
      for (const app of apps) expect(await statusOf(app, next)).toBe(401)
    })

    it('can be revoked during the grace time, together with its successor', async () => {
      const token = await signIn()
      advance(half)
      const next = (await requestMe(apps[0], token)).headers.freshtoken ?? ''
      await apps[0].get(Auth).revokeAll('7')
      advance(5)
      for (const app of apps)
        expect([await statusOf(app, token), await statusOf(app, next)]).toEqual([401, 401])
    })

    it('is recognized by a process with a lagging clock', async () => {
      const token = await signIn()
      clocks[0].by += half * 1000
      clocks[1].by += (half - 4) * 1000
      const next = (await requestMe(apps[0], token)).headers.freshtoken
      expect((await requestMe(apps[1], token)).headers.freshtoken).toBe(next)
      expect(renewals).toBe(1)
    })

    it('is not replaced if the transaction of the exchange is rolled back', async () => {
      const token = await signIn()
      const database = apps[0].get(Database)
      const auth = apps[0].get(Auth)
      const issued = database.transaction(async () => {
        await auth.exchange(token, {}, () => ({ one: 1 }))
        throw new Error('back')
      })
      await expect(issued).rejects.toThrow('back')
      expect(await auth.exchange(token, {}, () => ({ two: 2 }))).toEqual({ two: 2 })
      expect(await auth.exchange(token, {}, () => ({ three: 3 }))).toEqual({ two: 2 })
    })
  })

  it('has one successor, issued by a rotation or by an exchange', async () => {
    await start(engine, { rotation: { grace: '30s', reuse: 'end' } })
    const auth = apps[0].get(Auth)
    const make = (): object => ({ issued: true })
    const rotated = await signIn()
    advance(half)
    expect((await requestMe(apps[0], rotated)).headers.freshtoken).toBeDefined()
    expect(await auth.exchange(rotated, {}, make)).toBeNull()
    expect((await requestMe(apps[1], rotated)).headers.freshtoken).toBeDefined()
    const exchanged = await signIn()
    advance(half)
    expect(await auth.exchange(exchanged, {}, make)).toEqual({ issued: true })
    const { status, headers } = await requestMe(apps[1], exchanged)
    expect([status, headers.freshtoken]).toEqual([200, undefined])
    const raced = await signIn()
    advance(half)
    const [issued, { headers: next }] = await Promise.all([
      auth.exchange(raced, {}, make),
      requestMe(apps[1], raced),
    ])
    expect([issued === null, next.freshtoken === undefined]).toContain(true)
    expect(issued === null).not.toBe(next.freshtoken === undefined)
  })

  it('that is used too late by many requests is refused everywhere, with its successor', async () => {
    await start(engine, { rotation: { grace: '30s', reuse: 'end' } })
    const token = await signIn()
    advance(half)
    const next = (await requestMe(apps[0], token)).headers.freshtoken ?? ''
    advance(half)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        requestMe(apps[index % 2 === 0 ? 0 : 1], index % 4 < 2 ? token : next),
      ),
    )
    const refused = answers.filter((_, index) => index % 4 < 2)
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401))
    advance(5)
    const issued = [next, ...answers.flatMap(({ headers }) => headers.freshtoken ?? [])]
    for (const one of issued) for (const app of apps) expect(await statusOf(app, one)).toBe(401)
    expect(await apps[1].get(Auth).signIns('7')).toEqual([])
  })

  it('is stored even if it expires after the last possible date', async () => {
    await start(engine, { rotation: { grace: '30s' } })
    const token = await apps[0].get(Auth).getToken({ sub: '7', exp: 1e300 })
    const exchanged = (): Promise<unknown> => apps[1].get(Auth).exchange(token, {}, () => 1)
    expect([await exchanged(), await exchanged()]).toEqual([1, 1])
    expect(await apps[0].get(Auth).signIns('7')).toHaveLength(1)
  })

  it('without reuse: end is refused, but its successor is not', async () => {
    await start(engine, { rotation: { grace: '30s' } })
    const token = await signIn()
    advance(half)
    const next = (await requestMe(apps[0], token)).headers.freshtoken ?? ''
    advance(31)
    expect(await statusOf(apps[0], token)).toBe(401)
    expect(await statusOf(apps[1], token)).toBe(401)
    expect(await statusOf(apps[0], next)).toBe(200)
  })

  it('without the option rotation works until it expires', async () => {
    await start(engine, {})
    const token = await signIn()
    advance(half)
    expect((await requestMe(apps[0], token)).headers.freshtoken).toBeDefined()
    advance(1700)
    expect(await statusOf(apps[1], token)).toBe(200)
  })

  it('gets its successor in the cookie if it came in the cookie', async () => {
    await start(engine, { cookie: true, rotation: { grace: '30s', reuse: 'end' } })
    const token = await signIn()
    advance(half)
    const headers = { cookie: `app_token=${token}` }
    const answers = await Promise.all(
      apps.flatMap((app) => [
        app.inject({ url: '/me', headers }),
        app.inject({ url: '/me', headers }),
      ]),
    )
    const cookies = answers.map((answer) => String(answer.headers['set-cookie']).split(';')[0])
    expect(new Set(cookies).size).toBe(1)
    expect(cookies[0]).toMatch(/^app_token=ey/)
    advance(31)
    const refused = await apps[0].inject({ url: '/me', headers })
    expect(refused.status).toBe(401)
    expect(refused.headers['set-cookie']).toBeUndefined()
  })

  it("with rotate: 'always' gets a new successor after each use", async () => {
    await start(engine, { rotate: 'always', rotation: { grace: '30s', reuse: 'end' } })
    const token = await signIn()
    expect((await requestMe(apps[0], token)).headers.freshtoken).toBeUndefined()
    advance(1)
    const next = (await requestMe(apps[0], token)).headers.freshtoken ?? ''
    expect(next).not.toBe('')
    advance(40)
    expect((await requestMe(apps[1], next)).headers.freshtoken).toBeDefined()
  })
})
