/** The `Idempotency-Key` of a killed process can be used again soon, and the key of a running process never runs twice. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Clock,
  Controller,
  Database,
  Field,
  Module,
  Post,
  Record,
  type Application,
} from 'filigree'
import { idempotent } from 'filigree/idempotent'
import { TestClock } from 'filigree/testing'
import { bundleProgram } from '../bundle-program.js'
import { Client, startPostgres } from '../records/postgres-server.js'
import { waitUntil } from '../wait-until.js'

let runs = 0
/** Set to make the handler wait. */
let blocker: Promise<void> | undefined
let arrived: () => void = () => undefined

@Record
class Order {
  @Field('id') id!: number
  @Field('integer') run!: number
}

@Controller('/orders')
class OrderController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/') async create() {
    const run = ++runs
    arrived()
    await blocker
    await this.database.records(Order).create({ run })
    return { run }
  }
}

@Module({ controllers: [OrderController], records: [Order], imports: [idempotent()] })
class AppModule {}

const key = 'an-operator-key-for-tests'
const folder = mkdtempSync(join(tmpdir(), 'filigree-keys-'))
const program = bundleProgram('records/keyed-process')
const server = await startPostgres()
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
  rmSync(program)
})

const opened: Application[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((app) => app.close()))
})

describe.each([
  ['SQLite', (n: number) => Promise.resolve(`sqlite:${join(folder, `keys-${n}.db`)}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('an Idempotency-Key without a response, on %s', (engine, address) => {
  let url: string
  let count = 0
  beforeEach(async () => {
    url = await address(++count)
    runs = 0
    blocker = undefined
  })

  const start = async (): Promise<{ app: Application; clock: TestClock }> => {
    const clock = new TestClock()
    const app = await bootstrap(AppModule, {
      ...{ listen: false, logger: false, database: url, env: { APP_API_KEY: key } },
      override: [[Clock, clock]],
    })
    opened.push(app)
    return { app, clock }
  }
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'a' }
  const send = async (app: Application): Promise<unknown> => {
    const { status, body } = await app.inject({ method: 'POST', url: '/orders', headers })
    return { status, ...(JSON.parse(body) as object) }
  }
  const inFlight = {
    status: 409,
    error: 'The first request with this Idempotency-Key has not been answered yet.',
    code: 'IDEMPOTENCY_IN_FLIGHT',
  }

  /** Starts an application, and sends a request whose handler waits for `release`. */
  const startWaiting = async () => {
    let release: () => void = () => undefined
    blocker = new Promise((resolve) => (release = resolve))
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const first = await start()
    const answer = send(first.app)
    await arrival
    return { first, answer, release }
  }

  it('of a killed process is served 9 s later, and once', async () => {
    const { PATH } = process.env
    const env = { PATH, APP_API_KEY: key, DATABASE_URL: url }
    const child = spawn(process.execPath, [program], { env, cwd: folder })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const line = async (): Promise<string> => String((await lines.next()).value)
    const base = (await line()).replace('listens ', '')
    const sent = fetch(`${base}/orders`, { method: 'POST', headers }).catch(() => 'lost')
    expect(await line()).toBe('arrived')
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await sent).toBe('lost')

    const { app, clock } = await start()
    expect(await send(app)).toEqual(inFlight)
    await clock.advance('5s')
    expect(await send(app)).toEqual(inFlight)
    await clock.advance('4s')
    const responses = await Promise.all([send(app), send(app), send(app)])
    expect(responses).toContainEqual({ status: 200, run: 1 })
    expect(runs).toBe(1)
    expect(await send(app)).toEqual({ status: 200, run: 1 })
  })

  it('of a running process stays with it, also after its lease has expired', async () => {
    const { first, answer, release } = await startWaiting()
    const second = await start()
    await second.clock.advance('6s')
    for (let round = 0; round < 3; round++) {
      // Like after a database outage: the lease has expired, and could not be renewed.
      expect(await send(second.app)).toEqual(inFlight)
      // This triggers the heartbeat of the first process.
      await first.clock.advance('1s')
      await second.clock.advance('4s')
    }
    expect(await send(second.app)).toEqual(inFlight)
    release()
    expect(await answer).toEqual({ status: 200, run: 1 })
    expect(await send(second.app)).toEqual({ status: 200, run: 1 })
    expect(runs).toBe(1)
  })

  it('of a process that does not answer a challenge is taken over, and its later writes are rolled back', async () => {
    const { answer, release } = await startWaiting()
    blocker = undefined
    const second = await start()
    // The heartbeats of the first process are earlier than this time.
    await second.clock.advance('1h')
    let response = await send(second.app)
    expect(response).toEqual(inFlight)
    while (isDeepStrictEqual(response, inFlight)) {
      await second.clock.advance('4s')
      response = await send(second.app)
    }
    expect(response).toEqual({ status: 200, run: 2 })
    release()
    expect(await answer).toEqual(inFlight)
    expect(await second.app.get(Database).records(Order).list()).toMatchObject([{ run: 2 }])
  })

  /** Runs the work while another connection has an open transaction with these changes. */
  const during = async (changes: string, work: () => Promise<void>): Promise<void> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      await client.query(`begin; ${changes}`)
      await work()
      await client.query('commit')
    } finally {
      await client.end()
    }
  }

  if (engine === 'PostgreSQL')
    it.each([
      ['renewed its lease', 'lock table filigree_idempotency_process in access exclusive mode'],
      ['stored its claim', 'delete from filigree_idempotency'],
    ])('is free after the database was slow when its request %s', async (_step, changes) => {
      const { app } = await start()
      if (changes.startsWith('delete')) expect(await send(app)).toEqual({ status: 200, run: 1 })
      const before = runs
      await during(changes, async () => {
        expect(await send(app)).toMatchObject({ status: 503, code: 'DATABASE_UNAVAILABLE' })
        // Long enough for the key to be released before its claim is stored.
        await pause(1_500)
      })
      const run = before + 1
      const answer = { status: 200, run }
      await waitUntil(async () => isDeepStrictEqual(await send(app), answer), 20_000)
      expect(await send(app)).toEqual(answer)
      expect(runs).toBe(run)
    })
})
