/** `auth: { rotation }`: a token that was replaced. Source: decisions, "Third storey: signing in", Rotation. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
import { makePair } from '../auth/key-pair.js'
import { startPostgres } from '../records/postgres-server.js'

/** A process's own clock; the database's is moved on by as much. */
class OwnClock extends Clock {
  by = 0
  override now(): number {
    return super.now() + this.by
  }
  override moved(): number {
    return this.by
  }
}
const clocks = [new OwnClock(), new OwnClock()] as const
const advance = (seconds: number): void => {
  for (const clock of clocks) clock.by += seconds * 1000
}

@Controller('/')
class Site {
  @Get('/me') @Secured me(user: Claims): object {
    return { sub: user.sub, asked: user.asked }
  }
  @Post('/notes') note(): object {
    return {}
  }
}

class UsesDatabase {
  static readonly inject = [Database]
}

@Module({ controllers: [Site], providers: [UsesDatabase] })
class SiteModule {}

const server = await startPostgres()
const folder = mkdtempSync(join(tmpdir(), 'filigree-grace-'))
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})
const env = { APP_PRIVATE_KEY: makePair().privatePem }

let apps: readonly [Application, Application]
let asked = 0
let files = 0
afterEach(() => Promise.all(apps.map((app) => app.close())))

const renew = async (claims: Claims): Promise<Claims> => {
  const number = ++asked
  await new Promise((resolve) => setTimeout(resolve, 20))
  return { ...claims, asked: number }
}

const start = async (engine: string, auth: AuthOptions): Promise<void> => {
  asked = 0
  for (const clock of clocks) clock.by = 0
  const database =
    engine === 'PostgreSQL'
      ? await server.createDatabase()
      : `sqlite:${join(folder, `${++files}.db`)}`
  const options = { database, listen: false, logger: false, env, auth } as const
  apps = [
    await bootstrap(SiteModule, { ...options, override: [[Clock, clocks[0]]] }),
    await bootstrap(SiteModule, { ...options, override: [[Clock, clocks[1]]] }),
  ]
}

const ask = (app: Application, token: string): Promise<InjectResponse> =>
  app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
const statusOf = async (app: Application, token: string): Promise<number> =>
  (await ask(app, token)).status
const signIn = (): Promise<string> => apps[0].get(Auth).getToken({ sub: '7' })
const half = 1801

describe.each(['SQLite', 'PostgreSQL'])('a token that was replaced, on %s', (engine) => {
  describe("with { grace: '30s', reuse: 'end' }", () => {
    beforeEach(() => start(engine, { renew, rotation: { grace: '30s', reuse: 'end' } }))

    it('is followed by one successor for fifty at once in two processes', async () => {
      const token = await signIn()
      advance(half)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => ask(apps[index % 2 === 0 ? 0 : 1], token)),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      const fresh = new Set(answers.map(({ headers }) => headers.freshtoken))
      expect(fresh.size).toBe(1)
      expect([...fresh][0]).toBeDefined()
      expect(asked).toBeLessThanOrEqual(2)
      const [next = ''] = [...fresh]
      for (const app of apps) expect(await statusOf(app, next)).toBe(200)
    })

    it('counts within the grace as often as it comes, with the same successor, and then ends the sign-in', async () => {
      const token = await signIn()
      advance(half)
      const next = (await ask(apps[0], token)).headers.freshtoken ?? ''
      for (const seconds of [0, 10, 10, 9]) {
        advance(seconds)
        for (const app of apps) {
          const { status, headers } = await ask(app, token)
          expect([status, headers.freshtoken]).toEqual([200, next])
        }
      }
      expect(asked).toBe(1)
      expect(await statusOf(apps[1], next)).toBe(200)
      advance(1)
      expect(await statusOf(apps[1], token)).toBe(401)
      advance(5)
      for (const app of apps) expect(await statusOf(app, next)).toBe(401)
    })

    it('is revoked within the grace too, and its successor with it', async () => {
      const token = await signIn()
      advance(half)
      const next = (await ask(apps[0], token)).headers.freshtoken ?? ''
      await apps[0].get(Auth).revokeAll('7')
      advance(5)
      for (const app of apps)
        expect([await statusOf(app, token), await statusOf(app, next)]).toEqual([401, 401])
    })

    it('is known where the clock is behind, and its grace does not depend on clocks', async () => {
      const token = await signIn()
      clocks[0].by += half * 1000
      clocks[1].by += (half - 4) * 1000
      const next = (await ask(apps[0], token)).headers.freshtoken
      expect((await ask(apps[1], token)).headers.freshtoken).toBe(next)
      expect(asked).toBe(1)
    })

    it('was none where the transaction that looked is rolled back', async () => {
      const token = await signIn()
      const database = apps[0].get(Database)
      const auth = apps[0].get(Auth)
      const made = database.transaction(async () => {
        await auth.exchange(token, {}, () => ({ one: 1 }))
        throw new Error('back')
      })
      await expect(made).rejects.toThrow('back')
      expect(await auth.exchange(token, {}, () => ({ two: 2 }))).toEqual({ two: 2 })
      expect(await auth.exchange(token, {}, () => ({ three: 3 }))).toEqual({ two: 2 })
    })
  })

  it('without reuse: end is refused alone', async () => {
    await start(engine, { rotation: { grace: '30s' } })
    const token = await signIn()
    advance(half)
    const next = (await ask(apps[0], token)).headers.freshtoken ?? ''
    advance(31)
    expect(await statusOf(apps[0], token)).toBe(401)
    expect(await statusOf(apps[1], token)).toBe(401)
    expect(await statusOf(apps[0], next)).toBe(200)
  })

  it('without rotation lives until it expires', async () => {
    await start(engine, {})
    const token = await signIn()
    advance(half)
    expect((await ask(apps[0], token)).headers.freshtoken).toBeDefined()
    advance(1700)
    expect(await statusOf(apps[1], token)).toBe(200)
  })

  it('comes back in the cookie where it came in one', async () => {
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
    const late = await apps[0].inject({ url: '/me', headers })
    expect(late.status).toBe(401)
    expect(String(late.headers['set-cookie'])).toContain('Max-Age=0')
  })

  it("with rotate: 'always' is followed at each use, and never by itself", async () => {
    await start(engine, { rotate: 'always', rotation: { grace: '30s', reuse: 'end' } })
    const token = await signIn()
    expect((await ask(apps[0], token)).headers.freshtoken).toBeUndefined()
    advance(1)
    const next = (await ask(apps[0], token)).headers.freshtoken ?? ''
    expect(next).not.toBe('')
    advance(40)
    expect((await ask(apps[1], next)).headers.freshtoken).toBeDefined()
  })
})
