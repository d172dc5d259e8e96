/** How long requests wait for an unresponsive database. Source: docs/production.md, When the database does not answer. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
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
  oneTime,
  Post,
  Record,
  Secured,
  type Application,
  type BootstrapOptions,
  type Session,
} from 'filigree'
import { CacheFor } from 'filigree/cache'
import { health } from 'filigree/health'
import { idempotent } from 'filigree/idempotent'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { mcp, Tool } from 'filigree/mcp'
import { metrics } from 'filigree/metrics'
import { throttle, Throttle } from 'filigree/throttle'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { startStallingProxy, type StallingProxy } from '../records/stalling-proxy.js'
import { waitUntil } from '../wait-until.js'

let done = 0
let createdCount = 0

@Record
@NoAuth
class Note {
  @Field('id') id!: number
}

@Controller('/')
class DeskController {
  static inject = [Database]
  constructor(readonly database: Database) {}

  @Get('/plain') plain() {
    return { plain: true }
  }

  @Get('/own') @Secured secured() {
    return { secured: true }
  }

  @Get('/kept') @CacheFor('1h') async cached() {
    createdCount++
    const count = this.database.records(Note).count()
    if (createdCount === 1) await count
    else count.catch(() => undefined)
    return { createdCount }
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

const ran: number[] = []

class Work {
  @Job() run(body: number) {
    ran.push(body)
  }
}

const Invitations = oneTime<{ name: string }>('invitation', { for: '1h' })

@Controller('/later')
class JobController {
  static inject = [Jobs, Invitations]
  constructor(
    readonly jobs: Jobs,
    readonly invitations: InstanceType<typeof Invitations>,
  ) {}

  @Post('/jobs/<number:int>') @NoAuth add(number: number) {
    return this.jobs.add(Work, 'run', number)
  }

  @Post('/tokens') @NoAuth make() {
    return this.invitations.make({ name: 'ada' })
  }

  @Post('/tokens/<token>') @NoAuth take(token: string) {
    return this.invitations.take(token)
  }
}

@Module({
  controllers: [JobController],
  providers: [Work, Invitations],
  imports: [jobs({ work: true })],
})
class JobModule {}

@Module({
  controllers: [DeskController],
  imports: [
    health(),
    metrics(),
    throttle({ limit: '5/m', store: 'database' }),
    idempotent({ keep: '1h' }),
  ],
})
class DeskModule {}

@Module({
  records: [Note],
  controllers: [DeskController],
  imports: [idempotent({ keep: '1h' })],
})
class UnlimitedModule {}

@Controller('/agent')
class AgentController {
  @Get('/number') @Secured @Tool number() {
    return { number: 7 }
  }

  @Get('/open') @Throttle('50/m', { by: 'user' }) open() {
    return { open: true }
  }
}

@Module({ records: [Note], controllers: [AgentController], imports: [mcp({ path: '/mcp' })] })
class AgentModule {}

let server: PostgresServer
let proxy: StallingProxy
let url: string
const open: Application[] = []

beforeAll(async () => {
  server = await startPostgres()
  proxy = await startStallingProxy(server.url)
  url = await server.createDatabase()
})
afterEach(async () => {
  proxy.resume()
  await Promise.all(open.splice(0).map((app) => app.close()))
})
afterAll(async () => {
  await proxy.close()
  await server.close()
})

async function start(
  module: new () => object,
  times?: BootstrapOptions['times'],
): Promise<Application> {
  const app = await bootstrap(module, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    times,
    database: proxy.through(url),
    env: { APP_API_KEY: 'operator' },
  })
  open.push(app)
  return app
}

/** A limit in milliseconds for operations that must not wait, even on a busy machine. */
const soon = 20_000

function withTimeout<T>(response: Promise<T>): Promise<T> {
  const timedOut = new Promise<never>((_, reject) => {
    setTimeout(reject, soon, new Error(`nothing came within ${soon} ms`)).unref()
  })
  return Promise.race([response, timedOut])
}

describe('while the database does not respond', () => {
  it('limits are counted in memory, and probes and metrics are not counted', async () => {
    const app = await start(DeskModule)
    const get = (path: string) => withTimeout(fetch(app.url + path))
    expect((await get('/plain')).headers.get('ratelimit')).toMatch(/r=4/)
    proxy.stall()
    for (let time = 0; time < 10; time++) {
      const live = await get('/health/live')
      expect([live.status, live.headers.get('ratelimit')]).toEqual([200, null])
      expect((await get('/metrics')).status).toBe(200)
    }
    expect((await get('/health/ready')).status).toBe(503)
    const plain = await Promise.all(Array.from({ length: 6 }, () => get('/plain')))
    expect(plain.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429])
  })

  it('a write with a key is 503 and does not run, and the key is free afterwards', async () => {
    const app = await start(UnlimitedModule)
    const order = () =>
      withTimeout(
        fetch(`${app.url}/orders`, { method: 'POST', headers: { 'idempotency-key': 'stalled' } }),
      )
    const before = done
    proxy.stall()
    for (let time = 0; time < 2; time++) {
      const refused = await order()
      expect(refused.status).toBe(503)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(done).toBe(before)
    proxy.resume()
    await untilServed(order)
    expect(done).toBe(before + 1)
    expect((await order()).headers.get('idempotent-replayed')).toBe('true')
    expect(done).toBe(before + 1)
  })

  it('sessions and tokens are 503, and work again afterwards', async () => {
    const app = await start(UnlimitedModule)
    const first = await fetch(`${app.url}/visits`, { method: 'POST' })
    const [cookie = ''] = (first.headers.get('set-cookie') ?? '').split(';')
    const token = await app.get(Auth).getToken({ sub: 'ada' })
    const visit = () =>
      withTimeout(fetch(`${app.url}/visits`, { method: 'POST', headers: { cookie } }))
    const getSecured = () =>
      withTimeout(fetch(`${app.url}/own`, { headers: { authorization: `Bearer ${token}` } }))
    proxy.stall()
    for (const send of [visit, getSecured, visit, getSecured]) {
      const refused = await send()
      expect([refused.status, refused.headers.get('set-cookie')]).toEqual([503, null])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    proxy.resume()
    const response = await untilServed(visit)
    // A refused request was not counted, or was stored when its response was late.
    expect(((await response.json()) as { visits: number }).visits).toBeGreaterThanOrEqual(2)
    expect((await untilServed(getSecured)).status).toBe(200)
  })

  it('agents get 503 and stay signed in, and limits of users count by address', async () => {
    const app = await start(AgentModule)
    const authorization = `Bearer ${await app.get(Auth).getToken({ sub: 'ada' })}`
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
    const list = () =>
      withTimeout(
        fetch(`${app.url}/mcp`, {
          method: 'POST',
          headers: {
            authorization,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-06-18',
          },
          body: JSON.stringify(message),
        }),
      )
    proxy.stall()
    const refused = await list()
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([503, null])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const open = await withTimeout(fetch(`${app.url}/agent/open`, { headers: { authorization } }))
    expect(open.status).toBe(200)
    proxy.resume()
    expect(await (await untilServed(list)).text()).toContain('"name"')
  })

  it('cached responses are created again, and cached again afterwards', async () => {
    const app = await start(UnlimitedModule)
    const getCached = async () =>
      (await withTimeout(fetch(`${app.url}/kept`))).json() as Promise<{ createdCount: number }>
    expect([await getCached(), await getCached()]).toEqual([
      { createdCount: 1 },
      { createdCount: 1 },
    ])
    proxy.stall()
    // Repeats until the server has noticed the stall.
    await waitUntil(async () => (await getCached()).createdCount !== 1)
    const { createdCount: then } = await getCached()
    expect((await getCached()).createdCount).toBe(then + 1)
    proxy.resume()
    const isCached = async (): Promise<boolean> => (await getCached()).createdCount === createdCount
    await waitUntil(async () => (await isCached()) && (await isCached()))
  })

  it('jobs and one-time tokens are 503: no token is lost, and jobs continue afterwards', async () => {
    const app = await start(JobModule, { handler: 1000 })
    const post = (path: string) => withTimeout(fetch(`${app.url}/later${path}`, { method: 'POST' }))
    const token = await (await post('/tokens')).text()
    proxy.stall()
    const refused = await Promise.all([post('/jobs/1'), post(`/tokens/${token}`)])
    expect(refused.map(({ status }) => status)).toEqual([503, 503])
    proxy.resume()
    expect((await untilServed(() => post('/jobs/2'))).status).toBe(200)
    expect(await (await untilServed(() => post(`/tokens/${token}`))).json()).toEqual({
      name: 'ada',
    })
    // A statement that was sent before the stall may still run.
    await waitUntil(() => ran.includes(2))
  })

  it('a process that requires it at the start reports that', async () => {
    proxy.stall()
    const failure = await bootstrap(DeskModule, {
      listen: false,
      logger: false,
      database: `${proxy.through(url)}?connectTimeout=500`,
    }).catch((error: unknown) => error)
    expect(String(failure)).toContain('cannot be reached')
  })
})

describe('the database timeout', () => {
  it('refuses new statements immediately, until the database has responded again', async () => {
    const app = await start(UnlimitedModule)
    const database = app.get(DeskController).database
    const store = database.timeouts(50)
    let runCount = 0
    const never = () => {
      runCount++
      return new Promise(() => undefined)
    }
    proxy.stall()
    for (let time = 0; time < 3; time++) {
      const error = await store.run(never).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(HttpError)
      expect((error as HttpError).status).toBe(503)
    }
    expect([runCount, store.isUnresponsive]).toEqual([1, true])
    proxy.resume()
    await waitUntil(() => !store.isUnresponsive)
    expect(await store.run(() => 7)).toBe(7)
  })
})

async function untilServed(send: () => Promise<Response>): Promise<Response> {
  let response: Response | undefined
  await waitUntil(async () => {
    response = await send()
    return ![503, 409].includes(response.status)
  })
  return response as Response
}
