/** Two processes on one database whose clocks are an hour apart. Source: docs/production.md, Clocks. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Get,
  Module,
  NoAuth,
  Post,
  Secured,
  type Application,
  type Session,
} from 'filigree'
import { idempotent } from 'filigree/idempotent'
import { Throttle, throttle } from 'filigree/throttle'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'

const hour = 3_600_000
let done = 0

/** Milliseconds by which the tests have moved the clocks of both processes and of the database. */
let movedBy = 0

class ProcessClock extends Clock {
  /** @param apart milliseconds by which it differs from the clock of the database */
  constructor(readonly apart: number) {
    super()
  }
  override now(): number {
    return super.now() + this.apart + movedBy
  }
  override moved(): number {
    return movedBy
  }
}

@Controller('/')
class DeskController {
  @Get('/own') @Secured secured() {
    return { secured: true }
  }
  @Get('/rare') @Throttle('2/m') rare() {
    return { rare: true }
  }
  @Post('/orders') @NoAuth order() {
    return { number: ++done }
  }
  @Post('/visits') @NoAuth visit(session: Session) {
    const visits = Number(session['visits'] ?? 0) + 1
    session['visits'] = visits
    return { visits }
  }
}

@Module({
  controllers: [DeskController],
  imports: [throttle({ limit: '10000/h', store: 'database' }), idempotent({ keep: '30m' })],
})
class DeskModule {}

let server: PostgresServer
let folder: string
const open: Application[] = []

beforeAll(async () => {
  server = await startPostgres()
  folder = await mkdtemp(join(tmpdir(), 'filigree-clocks-'))
})
afterEach(async () => {
  movedBy = 0
  await Promise.all(open.splice(0).map((app) => app.close()))
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

describe.each(['SQLite', 'PostgreSQL'])('on %s', (engine) => {
  describe.each([
    ['ahead', hour],
    ['behind', -hour],
  ])('a process that is an hour %s', (_, apart) => {
    const start = async (): Promise<readonly [Application, Application]> => {
      const database =
        engine === 'SQLite'
          ? `sqlite:${join(folder, `${Math.random()}.db`)}`
          : await server.createDatabase()
      const options = { listen: false, logger: false, database, auth: { expiresIn: '3h' } } as const
      const startWith = async (clock: Clock): Promise<Application> => {
        const app = await bootstrap(DeskModule, { ...options, override: [[Clock, clock]] })
        open.push(app)
        return app
      }
      const right = await startWith(new ProcessClock(0))
      const wrong = await startWith(new ProcessClock(apart))
      return [right, wrong]
    }

    it('shares sessions', async () => {
      const [right, wrong] = await start()
      for (const [one, other] of [
        [right, wrong],
        [wrong, right],
      ] as const) {
        const first = await one.inject({ method: 'POST', url: '/visits' })
        const [cookie = ''] = String(first.headers['set-cookie']).split(';')
        const visit = { method: 'POST', url: '/visits', headers: { cookie } } as const
        expect((await other.inject(visit)).json()).toEqual({ visits: 2 })
        expect((await one.inject(visit)).json()).toEqual({ visits: 3 })
      }
    })

    it('runs a write with a key once', async () => {
      const [right, wrong] = await start()
      for (const [one, other] of [
        [right, wrong],
        [wrong, right],
      ] as const) {
        const order = { method: 'POST', url: '/orders', headers: { 'idempotency-key': `k${done}` } }
        const first = await one.inject(order)
        const repeated = await other.inject(order)
        expect(repeated.json()).toEqual(first.json())
        expect(repeated.headers['idempotent-replayed']).toBe('true')
      }
    })

    it('shares windows of limits', async () => {
      const [right, wrong] = await start()
      expect((await right.inject('/rare')).status).toBe(200)
      expect((await wrong.inject('/rare')).status).toBe(200)
      for (const app of [right, wrong]) {
        const refused = await app.inject('/rare')
        expect(refused.status).toBe(429)
        expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
      }
    })

    it('ends the tokens of a subject issued on any process, and no later ones', async () => {
      const [right, wrong] = await start()
      const apps = [right, wrong]
      const signIn = () => Promise.all(apps.map((app) => app.get(Auth).getToken({ sub: 'ada' })))
      // Checked by the process that issued them, because a process refuses tokens from its own future.
      const statusesOf = (tokens: readonly string[]) =>
        Promise.all(
          apps.map(
            async (app, at) => (await app.inject({ url: '/own', token: tokens[at] ?? '' })).status,
          ),
        )
      for (const app of apps) {
        const before = await signIn()
        await app.get(Auth).revokeAll('ada')
        expect(await statusesOf(before)).toEqual([401, 401])
        // Tokens issued in the same second are revoked too.
        movedBy += 3000
        expect(await statusesOf(await signIn())).toEqual([200, 200])
      }
    })
  })
})
