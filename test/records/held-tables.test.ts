/** Somebody holds a table on PostgreSQL: what asks other tables goes on, and questions of our own wait for no lock of a user's. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Field, Record } from 'filigree'
import { silentLog } from '../silent-log.js'
import { connect, type Database } from '../../src/records/database.js'
import { sql } from 'kysely'
import { startPostgres, type PostgresServer } from './postgres-server.js'

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

describe('a table that somebody holds', () => {
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

  /** Nobody else sees the table, not even its size. */
  const held = <T>(work: () => Promise<T>): Promise<T> =>
    holder.transaction(async (tx) => {
      await sql`lock table held_stone in access exclusive mode`.execute(tx.kysely)
      try {
        return await work()
      } finally {
        void database.close()
      }
    })

  const waiting = async (): Promise<number> => {
    const { rows } = await sql<{ count: unknown }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(observer.kysely)
    return Number(rows[0]?.count)
  }

  const asking = async (text: string): Promise<number> => {
    const { rows } = await sql<{ count: unknown }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and query ilike ${text}`.execute(observer.kysely)
    return Number(rows[0]?.count)
  }

  it('has a size', async () => {
    const { engine } = database.context
    const sizes = await held(async () => engine.tableSizes(['held_stone', 'held_leaf']))
    expect([...sizes]).toEqual([
      ['held_stone', 2],
      ['held_leaf', 2],
    ])
  })

  it('is not waited for to learn how its statements go together', async () => {
    const stones = database.records(Stone)
    await stones.find(1)
    await held(async () => {
      const finds = Array.from({ length: 40 }, (_, n) => stones.find(n + 1))
      const found = Promise.allSettled(finds)
      while ((await waiting()) === 0) continue
      const rows = await Promise.all([1, 2].map((id) => database.records(Leaf).find(id)))
      expect(rows.map((leaf) => leaf?.name)).toEqual(['one', 'two'])
      expect(await asking('prepare%')).toBe(0)
      void found
    })
  })

  /** Of a wait of hundreds of milliseconds, so that a test that has to wait does not wait long. */
  const briefly = (): string => {
    const address = new URL(url)
    address.searchParams.set('lock_timeout', '200')
    return address.href
  }

  it('is not waited for by a start of other records, nor by the tables of the framework', async () => {
    const other = await connect(url, { records: [Leaf] })
    await held(async () => {
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
      expect(await waiting()).toBe(0)
    })
    await other.close()
  })

  it('ends a start that needs it, and the message names the table and the process', async () => {
    const other = await connect(briefly(), { records })
    await held(async () => {
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

  it('leaves a line in the log where the connection of a waiting write breaks', async () => {
    const lines: string[] = []
    const note = (_details: object, message?: string): void => {
      lines.push(String(message))
    }
    const log = { ...silentLog, warn: note }
    const told = await connect({ url, records, log })
    await database.close()
    await holder.transaction(async (tx) => {
      await tx.records(Leaf).create({ name: 'three' })
      const made = told
        .records(Leaf)
        .create({ name: 'three' })
        .catch((error: unknown) => error)
      while ((await waiting()) === 0) continue
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(observer.kysely)
      expect(await made).toMatchObject({ status: 503 })
    })
    expect(lines).toContain(
      'the connection broke while a write was under way: whether it was done is not known',
    )
    await told.close()
  })
})
