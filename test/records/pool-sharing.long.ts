/** How slow reads, waiting writes and abandoned requests share the pool of PostgreSQL connections with other requests. */
import { request as send, type ClientRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Module, NoAuth, Record, type Application } from 'filigree'
import { sql } from 'kysely'
import { connect, Database } from '../../src/index.js'
import { countSessions, waitsForLock } from './count-sessions.js'
import { setTimeout } from 'node:timers/promises'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { startStallingProxy } from './stalling-proxy.js'
import { waitUntil } from '../wait-until.js'

@Record({ table: 'share_rock', plural: 'rocks' })
class Rock {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('integer', { default: 0 }) size?: number
}

@Record({ table: 'share_twig', plural: 'twigs' })
class Twig {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/rocks', { crud: Rock })
@NoAuth
class Rocks {}

@Controller('/twigs', { crud: Twig })
@NoAuth
class Twigs {}

const records = [Rock, Twig]
@Module({ controllers: [Rocks, Twigs], records })
class App {}

describe('the pool of PostgreSQL connections', () => {
  let server: PostgresServer
  let url: string
  let holder: Database
  let observer: Database
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
    holder = await connect(url, { records })
    observer = await connect(url)
    await holder.sync()
    await holder.records(Rock).insertMany([{ name: 'one' }, { name: 'two' }])
    await holder.records(Twig).insertMany([{ name: 'one' }, { name: 'two' }])
  })
  afterAll(async () => {
    await holder.close()
    await observer.close()
    await server.close()
  })

  const open = (connections: number, address = url): Promise<Application> =>
    bootstrap(App, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      env: {},
      trustProxy: 1,
      database: `${address}?connections=${connections}&lock_timeout=20000`,
    })

  /** The number of statements that wait for a lock. */
  const waiting = (): Promise<number> => countSessions(observer, waitsForLock)
  /** Only lists are sorted. A count ends after 10,001 rows, so it needs no slot until it has proved to be slow. */
  const waitingLists = (): Promise<number> =>
    countSessions(observer, `${waitsForLock} and query like '%order by%'`)
  const until = async (count: number): Promise<void> => {
    await waitUntil(async () => (await waiting()) >= count)
  }
  /** Waits until every pending statement has tried to get a connection. */
  const settleWaiting = async (): Promise<void> => {
    for (let attempt = 0; attempt < 20; attempt++) await waiting()
  }
  const whileLocked = <T>(lock: string, work: () => Promise<T>): Promise<T> =>
    holder.transaction(async (tx) => {
      await sql.raw(lock).execute(tx.kysely)
      return work()
    })
  const lockRocks = 'lock table share_rock in access exclusive mode'
  const get = (app: Application, path: string, client = '203.0.113.8'): Promise<Response> =>
    fetch(new URL(path, app.url), { headers: { 'x-forwarded-for': client } })
  /** A list by a column without an index. No two of these requests are equal. */
  const slowPath = (n: number): string => `/rocks?size=${n}&orderBy=-name`

  it.each([
    [10, 4, 5],
    [2, 1, 1],
    [3, 1, 1],
  ])(
    'with %d connections gives slow reads of a client at most %d, and of all clients at most %d',
    async (connections, maxOfClient, maxReads) => {
      const app = await open(connections)
      const reads = await whileLocked(lockRocks, async () => {
        const pending = Array.from({ length: 20 }, (_, n) => get(app, slowPath(n)))
        await until(maxOfClient)
        await settleWaiting()
        expect(await waitingLists()).toBe(maxOfClient)
        for (let n = 20; n < 40; n++) pending.push(get(app, slowPath(n), '203.0.113.9'))
        await waitUntil(async () => (await waitingLists()) >= maxReads)
        expect((await get(app, '/twigs/1')).status).toBe(200)
        expect((await get(app, '/twigs/2')).status).toBe(200)
        await settleWaiting()
        expect(await waitingLists()).toBe(maxReads)
        return pending
      })
      for (const read of reads) expect((await read).status).toBe(200)
      await app.close()
    },
  )

  it('does not count reads that have not ended as quick runs of their statement', async () => {
    const app = await open(10)
    const reads = await whileLocked(lockRocks, async () => {
      const clients = ['203.0.113.8', '203.0.113.9']
      // In the process, so that all reads begin before one of them can count as slow.
      const pending = Array.from({ length: 40 }, (_, n) => {
        const headers = { 'x-forwarded-for': clients[n % 2] ?? '' }
        return app.inject({ url: slowPath(n), headers })
      })
      await waitUntil(async () => (await waitingLists()) >= 5)
      await settleWaiting()
      expect(await waitingLists()).toBe(5)
      return pending
    })
    for (const read of reads) expect((await read).status).toBe(200)
    await app.close()
  })

  it('is closed while a caller waits for a connection, and the caller gets an error', async () => {
    const single = await connect(`${url}?connections=1`, { records })
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    let isHeld = false
    const holding = single.transaction(async () => {
      await sql`select 1`.execute(single.kysely)
      isHeld = true
      await held
    })
    await waitUntil(() => isHeld)
    const waiting = sql`select 1`.execute(single.kysely).catch((error: unknown) => error)
    const closed = single.close()
    release()
    await Promise.allSettled([holding])
    await closed
    expect(await waiting).toMatchObject({ status: 503 })
  })

  it('is not used to explain queries while their table is locked', async () => {
    const app = await open(2)
    expect((await get(app, slowPath(1))).status).toBe(200)
    await whileLocked(lockRocks, async () => {
      // Closing examines the remaining queries.
      const state = { isClosed: false }
      const closing = app.close().then(() => {
        state.isClosed = true
      })
      while (!state.isClosed) expect(await waiting()).toBe(0)
      await closing
    })
  })

  it('gives formerly quick queries at most half of the connections once they are slow', async () => {
    const app = await open(10)
    for (let n = 0; n < 40; n++) expect((await get(app, slowPath(100 + n))).status).toBe(200)
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => (await get(app, slowPath(200 + n))).status),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    // Three shared connections, and one or two from before the queries were classified.
    expect(app.get(Database).pool?.open).toBeLessThan(8)
    const reads = await whileLocked(lockRocks, async () => {
      const pending = Array.from({ length: 20 }, (_, n) => get(app, slowPath(300 + n)))
      await until(5)
      expect((await get(app, '/twigs/1')).status).toBe(200)
      await settleWaiting()
      expect(await waiting()).toBe(5)
      return pending
    })
    for (const read of reads) expect((await read).status).toBe(200)
    await app.close()
  })

  // test/engines/slow-read-detector.test.ts proves that these reads do not count as slow.
  it('still serves quick queries while the whole server is slow', async () => {
    const proxy = await startStallingProxy(url)
    const app = await open(10, proxy.through(url))
    const lists = async (from: number, count: number): Promise<void> => {
      const pending = Array.from({ length: count }, (_, n) => get(app, slowPath(from + n)))
      for (const list of pending) expect((await list).status).toBe(200)
    }
    for (let n = 0; n < 40; n++) await lists(400 + n, 1)
    proxy.stall()
    const slow = lists(500, 20)
    // Long enough that the detector examines them more than once.
    await setTimeout(400)
    proxy.resume()
    await slow
    await lists(600, 60)
    await app.close()
    await proxy.close()
  })

  it('passes the slot of a disconnected client on, and drops its queued statements', async () => {
    const app = await open(2)
    await whileLocked(lockRocks, async () => {
      const pending: ClientRequest[] = []
      for (let n = 0; n < 6; n++) {
        const one = send(new URL(slowPath(n), app.url))
        one.on('error', () => undefined)
        one.end()
        pending.push(one)
        if (n === 0) await until(1)
      }
      await settleWaiting()
      for (const one of pending) one.destroy()
      await waitUntil(async () => (await waiting()) === 0)
      expect((await get(app, '/twigs/1')).status).toBe(200)
    })
    expect((await get(app, slowPath(1))).status).toBe(200)
    await app.close()
  })

  it('leaves connections for reads of other tables while writes wait', async () => {
    const app = await open(4)
    const changes = await whileLocked(
      "insert into share_rock (name) values ('taken')",
      async () => {
        // Each write waits for the transaction that holds the same name.
        const rocks = app.get(Database).records(Rock)
        const pending = [
          rocks.upsert({ name: 'taken', size: 1 }, { by: 'name' }),
          rocks.create({ name: 'taken' }),
          rocks.update(1, { name: 'taken' }),
        ].map((write) => write.catch((error: unknown) => error))
        const reads = Array.from({ length: 12 }, (_, n) =>
          Promise.all([get(app, `/twigs?name=n${n}`), get(app, `/twigs/${(n % 2) + 1}`)]),
        )
        for (const [list, one] of await Promise.all(reads))
          expect([list.status, one.status]).toEqual([200, 200])
        await until(3)
        return pending
      },
    )
    await Promise.all(changes)
    await app.close()
  })
})
