/** What long reads, waiting writes and those who leave take of the connections to PostgreSQL, and what others still get. */
import { request as send, type ClientRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Module, NoAuth, Record, type Application } from 'filigree'
import { sql } from 'kysely'
import { connect, Database } from '../../src/index.js'
import { setTimeout } from 'node:timers/promises'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { startStallingProxy } from './stalling-proxy.js'

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
class Ground {}

describe('connections to PostgreSQL', () => {
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
    bootstrap(Ground, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      env: {},
      database: `${address}?connections=${connections}&lock_timeout=20000`,
    })

  /** Statements that wait for somebody. */
  const waiting = async (): Promise<number> => {
    const { rows } = await sql<{ count: unknown }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(observer.kysely)
    return Number(rows[0]?.count)
  }
  const until = async (wanted: number): Promise<void> => {
    while ((await waiting()) < wanted) continue
  }
  /** So long that whoever wanted a connection has tried to have one. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await waiting()
  }
  const held = <T>(lock: string, work: () => Promise<T>): Promise<T> =>
    holder.transaction(async (tx) => {
      await sql.raw(lock).execute(tx.kysely)
      return work()
    })
  const lockRocks = 'lock table share_rock in access exclusive mode'
  const ask = (app: Application, path: string): Promise<Response> => fetch(new URL(path, app.url))
  /** A list that is not the same as any other, by a column without an index. */
  const long = (n: number): string => `/rocks?size=${n}&orderBy=-name`

  it.each([
    [10, 5],
    [2, 1],
    [3, 1],
  ])('%d of them: long reads have %d', async (connections, most) => {
    const app = await open(connections)
    const reads = await held(lockRocks, async () => {
      const asked = Array.from({ length: 20 }, (_, n) => ask(app, long(n)))
      await until(most)
      expect((await ask(app, '/twigs/1')).status).toBe(200)
      expect((await ask(app, '/twigs/2')).status).toBe(200)
      await settle()
      expect(await waiting()).toBe(most)
      return asked
    })
    for (const read of reads) expect((await read).status).toBe(200)
    await app.close()
  })

  it('what looks for queries that scan waits for nobody who has locked a table', async () => {
    const app = await open(2)
    expect((await ask(app, long(1))).status).toBe(200)
    await held(lockRocks, async () => {
      // What was not examined yet is examined then.
      const state = { isClosed: false }
      const closing = app.close().then(() => {
        state.isClosed = true
      })
      while (!state.isClosed) expect(await waiting()).toBe(0)
      await closing
    })
  })

  it('what was quick before shares connections, and has no more than half of them where it is slow', async () => {
    const app = await open(10)
    for (let n = 0; n < 40; n++) expect((await ask(app, long(100 + n))).status).toBe(200)
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => (await ask(app, long(200 + n))).status),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    // Three for those that share, and one or two from before it was known.
    expect(app.get(Database).pool?.open).toBeLessThan(8)
    const reads = await held(lockRocks, async () => {
      const asked = Array.from({ length: 20 }, (_, n) => ask(app, long(300 + n)))
      await until(5)
      expect((await ask(app, '/twigs/1')).status).toBe(200)
      await settle()
      expect(await waiting()).toBe(5)
      return asked
    })
    for (const read of reads) expect((await read).status).toBe(200)
    await app.close()
  })

  // That they are not taken for long ones then: test/engines/slow-reads.test.ts.
  it('what was quick is answered where the whole server is slow for a while', async () => {
    const proxy = await startStallingProxy(url)
    const app = await open(10, proxy.through(url))
    const lists = async (from: number, count: number): Promise<void> => {
      const asked = Array.from({ length: count }, (_, n) => ask(app, long(from + n)))
      for (const list of asked) expect((await list).status).toBe(200)
    }
    for (let n = 0; n < 40; n++) await lists(400 + n, 1)
    proxy.stall()
    const slow = lists(500, 20)
    // So long that somebody looks at them more than once.
    await setTimeout(400)
    proxy.resume()
    await slow
    await lists(600, 60)
    await app.close()
    await proxy.close()
  })

  it('who leaves lets the next one have the turn, and nothing is asked for those who left before', async () => {
    const app = await open(2)
    await held(lockRocks, async () => {
      const asked: ClientRequest[] = []
      for (let n = 0; n < 6; n++) {
        const one = send(new URL(long(n), app.url))
        one.on('error', () => undefined)
        one.end()
        asked.push(one)
        if (n === 0) await until(1)
      }
      await settle()
      for (const one of asked) one.destroy()
      while ((await waiting()) > 0) continue
      expect((await ask(app, '/twigs/1')).status).toBe(200)
    })
    expect((await ask(app, long(1))).status).toBe(200)
    await app.close()
  })

  it('fewer waiting writes than there are hold no read of another table', async () => {
    const app = await open(4)
    const changes = await held("insert into share_rock (name) values ('taken')", async () => {
      // Each waits until it is known whether the name is taken: an upsert, plain new rows, and a change.
      const rocks = app.get(Database).records(Rock)
      const asked = [
        rocks.upsert({ name: 'taken', size: 1 }, { by: 'name' }),
        rocks.create({ name: 'taken' }),
        rocks.update(1, { name: 'taken' }),
      ].map((write) => write.catch((error: unknown) => error))
      const reads = Array.from({ length: 12 }, (_, n) =>
        Promise.all([ask(app, `/twigs?name=n${n}`), ask(app, `/twigs/${(n % 2) + 1}`)]),
      )
      for (const [list, one] of await Promise.all(reads))
        expect([list.status, one.status]).toEqual([200, 200])
      await until(3)
      return asked
    })
    await Promise.all(changes)
    await app.close()
  })
})
