import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HealthCheck,
  Module,
  Record,
  type Application,
} from 'filigree'
import { health } from 'filigree/health'

@Record
class Lamp {
  @Field('id') id!: number
}

/** A health check whose result the test sets. */
class Mailer {
  checkCount = 0
  result: () => unknown = () => true
  @HealthCheck('mailer') check(): unknown {
    this.checkCount++
    return this.result()
  }
}

let app: Application | undefined
afterEach(async () => {
  await app?.close()
  app = undefined
  jest.restoreAllMocks()
})

/** Stops the clock of the probes. @returns a function that advances it by milliseconds */
function stopClock(): (by: number) => void {
  let now = Math.ceil(performance.now()) // Whole milliseconds: sums of fractions are inexact.
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  return (by) => {
    now += by
  }
}

async function start(options: Parameters<typeof health>[0] = {}): Promise<Mailer> {
  const mailer = new Mailer()
  @Module({
    // On a busy machine the event loop may lag.
    imports: [health({ leaving: 0, eventLoopDelay: 600_000, ...options })],
    records: [Lamp],
    providers: [{ provide: 'mailer', use: mailer }],
  })
  class AppModule {}
  const settings = { port: 0, host: '127.0.0.1', logger: false, env: {} } as const
  const auth = { closed: true }
  app = await bootstrap(AppModule, { ...settings, auth, database: 'sqlite::memory:' })
  return mailer
}

async function getProbe(
  path: string,
): Promise<{ status: number; body: unknown; headers: Headers }> {
  const result = await fetch(`${app!.url}/health/${path}`, { headers: { connection: 'close' } })
  return { status: result.status, body: await result.json(), headers: result.headers }
}

describe('health', () => {
  it('is open where every other route is closed, and never cached', async () => {
    await start()
    for (const path of ['live', 'ready']) {
      const { status, headers } = await getProbe(path)
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    }
    expect((await getProbe('ready')).body).toEqual({
      status: 'ok',
      checks: { database: 'ok', mailer: 'ok', eventLoop: 'ok' },
    })
  })

  it.each([
    ['throws', () => Promise.reject(new Error('secret host refused'))],
    ['answers false', () => false],
    ['hangs', () => new Promise(() => undefined)],
  ])('is not ready where a check %s, without the reason', async (_, result) => {
    const mailer = await start({ timeout: 300 })
    mailer.result = result
    const { status, body } = await getProbe('ready')
    expect([status, body]).toEqual([
      503,
      { status: 'failing', checks: { database: 'ok', mailer: 'failing', eventLoop: 'ok' } },
    ])
    expect((await getProbe('live')).status).toBe(200)
  })

  it('is not ready while the database is unavailable', async () => {
    @Module({ imports: [health()], records: [Lamp] })
    class AppModule {}
    const { connect } = await import('filigree')
    const database = await connect('sqlite::memory:', { records: [Lamp] })
    app = await bootstrap(AppModule, { listen: false, logger: false, env: {}, database })
    await database.close()
    const { status, body } = await app.inject('/health/ready')
    expect([status, JSON.parse(body)]).toMatchObject([503, { checks: { database: 'failing' } }])
  })

  it.each(['', '-wal'])('is not ready where app.db%s was deleted', async (end) => {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-health-'))
    const file = join(folder, 'app.db')
    @Module({ imports: [health()], records: [Lamp] })
    class AppModule {}
    const database = `sqlite:${file}`
    app = await bootstrap(AppModule, { listen: false, logger: false, env: {}, database })
    const db = app.get(Database)
    await db.check()
    await rm(file + end)
    await expect(db.check()).rejects.toMatchObject({ status: 503 })
    const { status, body } = await app.inject('/health/ready')
    expect([status, JSON.parse(body)]).toMatchObject([503, { checks: { database: 'failing' } }])
    await rm(folder, { recursive: true })
  })

  it('runs its checks once a second, however many requests', async () => {
    const mailer = await start()
    const advance = stopClock()
    await Promise.all(Array.from({ length: 20 }, () => getProbe('ready')))
    advance(999)
    await getProbe('ready')
    expect(mailer.checkCount).toBe(1)
    advance(1)
    await getProbe('ready')
    expect(mailer.checkCount).toBe(2)
  })

  it('runs a check that never ends again, after ten times its timeout', async () => {
    const mailer = await start({ timeout: 300 })
    const advance = stopClock()
    mailer.result = () => new Promise(() => undefined)
    expect((await getProbe('ready')).status).toBe(503)
    mailer.result = () => true
    advance(3000)
    expect((await getProbe('ready')).status).toBe(503)
    expect(mailer.checkCount).toBe(1)
    advance(1000)
    expect((await getProbe('ready')).status).toBe(200)
    expect(mailer.checkCount).toBe(2)
  })

  it('is not ready while the application closes, on new connections too', async () => {
    await start({ leaving: 12_345 })
    expect((await getProbe('ready')).status).toBe(200)
    const begin = globalThis.setTimeout
    const closed = new Promise<() => void>((resolve) => {
      jest.spyOn(globalThis, 'setTimeout').mockImplementation(((
        ...args: Parameters<typeof begin>
      ) => {
        if (args[1] !== 12_345) return begin(...args)
        resolve(args[0])
        return undefined
      }) as typeof begin)
    })
    const closing = app!.close()
    const leave = await closed
    const { status, body } = await getProbe('ready')
    expect([status, body]).toEqual([503, { status: 'closing' }])
    expect((await getProbe('live')).status).toBe(200)
    leave()
    await closing
    await expect(getProbe('ready')).rejects.toThrow()
  })

  it('refuses options without effect, in the start report', async () => {
    @Module({ imports: [health({ timeout: '1s' as never }), health({ wait: 1 } as never)] })
    class AppModule {}
    const starting = bootstrap(AppModule, { listen: false, logger: false, env: {} })
    await expect(starting).rejects.toThrow(/timeout cannot be used[^]*unknown option "wait"/)
  })
})

describe('@HealthCheck', () => {
  it('names its check, and requires the decorator', async () => {
    class Redis {
      @HealthCheck('redis') ping(): boolean {
        return true
      }
      check(): boolean {
        return false
      }
    }
    @Controller('/orders')
    class Orders {
      @Get('/') list(): object {
        return { isFine: this.check() }
      }
      private check(): boolean {
        return false
      }
    }
    @Module({
      imports: [health({ leaving: 0, eventLoopDelay: 600_000 })],
      controllers: [Orders],
      providers: [Redis],
    })
    class AppModule {}
    app = await bootstrap(AppModule, { listen: false, logger: false, env: {} })
    const { status, body } = await app.inject({ method: 'GET', url: '/health/ready' })
    expect([status, JSON.parse(body)]).toEqual([
      200,
      { status: 'ok', checks: { redis: 'ok', eventLoop: 'ok' } },
    ])
  })
})
