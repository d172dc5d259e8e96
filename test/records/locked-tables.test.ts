/** While a transaction locks a PostgreSQL table, statements on other tables continue, and internal queries never wait for the lock. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Field, Record, connect, type Database } from 'filigree'
import { silentLog } from '../silent-log.js'
import { sql } from 'kysely'
import { countSessions, waitsForLock } from './count-sessions.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { waitUntil } from '../wait-until.js'
import { internalsOf } from './open-database.js'

@Record({ table: 'held_stone' })
class Stone {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'held_leaf' })
class Leaf {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
}

const records = [Stone, Leaf]

describe('a locked table', () => {
  let server: PostgresServer
  let url: string
  let holder: Database
  let observer: Database
  let database: Database
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
    holder = await connect(url, { records })
    observer = await connect(url)
    await holder.sync()
    await holder.records(Stone).insertMany([{ name: 'one' }, { name: 'two' }])
    await holder.records(Leaf).insertMany([{ name: 'one' }, { name: 'two' }])
    await sql`analyze`.execute(holder.kysely)
  })
  afterAll(async () => {
    await holder.close()
    await observer.close()
    await server.close()
  })
  beforeEach(async () => {
    database = await connect(url, { records })
  })

  /** Runs `work` while the table is locked exclusively. */
  const whileLocked = <T>(work: () => Promise<T>): Promise<T> =>
    holder.transaction(async (tx) => {
      await sql`lock table held_stone in access exclusive mode`.execute(tx.kysely)
      try {
        return await work()
      } finally {
        void database.close()
      }
    })

  const waitingStatements = (): Promise<number> => countSessions(observer, waitsForLock)
  const statementsLike = (text: string): Promise<number> =>
    countSessions(observer, `query ilike '${text}'`)

  it('still reports its size', async () => {
    const { engine } = internalsOf(database).context
    const sizes = await whileLocked(async () => engine.schema.sizes(['held_stone', 'held_leaf']))
    // PostgreSQL counts rows once more if it learns of the insert after the analysis.
    expect([...sizes].map(([name, size]) => [name, size.rows >= 2])).toEqual([
      ['held_stone', true],
      ['held_leaf', true],
    ])
  })

  it('does not delay the preparation of batched statements', async () => {
    const stones = database.records(Stone)
    await stones.find(1)
    await whileLocked(async () => {
      const finds = Array.from({ length: 40 }, (_, n) => stones.find(n + 1))
      const found = Promise.allSettled(finds)
      await waitUntil(async () => (await waitingStatements()) > 0)
      const rows = await Promise.all([1, 2].map((id) => database.records(Leaf).find(id)))
      expect(rows.map((leaf) => leaf?.name)).toEqual(['one', 'two'])
      expect(await statementsLike('prepare%')).toBe(0)
      void found
    })
  })

  /** The database URL with a lock timeout of 200 ms, so that the test fails quickly. */
  const withShortLockTimeout = (): string => {
    const address = new URL(url)
    address.searchParams.set('lock_timeout', '200')
    return address.href
  }

  it('does not delay the start of other records or of framework tables', async () => {
    const other = await connect(url, { records: [Leaf] })
    await whileLocked(async () => {
      expect(await other.sync()).toEqual([])
      await other.verify()
      await other.ensureTable(
        'filigree_held',
        'create table if not exists filigree_held (id integer)',
      )
      await other.ensureTable(
        'filigree_held',
        'create table if not exists filigree_held (id integer)',
      )
      expect(await waitingStatements()).toBe(0)
    })
    await other.close()
  })

  it('fails a start that reads it, and the message names the table and the process', async () => {
    const other = await connect(withShortLockTimeout(), { records })
    await whileLocked(async () => {
      for (const read of [() => other.sync(), () => other.verify(), () => other.differences()])
        await expect(read()).rejects.toMatchObject({
          problems: [
            {
              code: 'SCHEMA_LOCKED',
              message: expect.stringMatching(
                /^The tables could not be read, because the table held_stone is locked by process \d+ of the server/,
              ),
            },
          ],
        })
    })
    await other.close()
  })

  it('logs a warning when the connection of a waiting write breaks', async () => {
    const lines: string[] = []
    const record = (_details: object, message?: string): void => {
      lines.push(String(message))
    }
    const log = { ...silentLog, warn: record }
    const logged = await connect({ url, records, log })
    await database.close()
    await holder.transaction(async (tx) => {
      await tx.records(Leaf).create({ name: 'three' })
      const creating = logged
        .records(Leaf)
        .create({ name: 'three' })
        .catch((error: unknown) => error)
      await waitUntil(async () => (await waitingStatements()) > 0)
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(observer.kysely)
      expect(await creating).toMatchObject({ status: 503 })
    })
    expect(lines).toContain(
      'the connection broke while a write was under way: whether it was done is not known',
    )
    await logged.close()
  })
})
