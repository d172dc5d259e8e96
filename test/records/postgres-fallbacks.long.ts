/**
 * The fallbacks for PostgreSQL-compatible servers without LISTEN and advisory locks, tested on PostgreSQL. Source:
 * docs/scaling.md, Distributed engines.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { Field, Record, connect, type Database } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { describeChanges } from '../contracts/changes.contract.js'
import { describeDatabase } from '../contracts/database.contract.js'
import { expectChangesOfBothKeys, follow } from './follower.js'
import { pgbouncer, startPgBouncer } from './pgbouncer.js'
import { startPostgres } from './postgres-server.js'
import { Category, shop } from './shop.js'
import { waitUntil } from '../wait-until.js'
import type { DatabaseOptions } from '../public-types.js'
import { engineOf } from './open-database.js'

const server = await startPostgres()
afterAll(() => server.close())

async function createDatabase(): Promise<string> {
  const address = new URL(await server.createDatabase())
  address.searchParams.set('listen', 'poll')
  address.searchParams.set('locks', 'row')
  // A busy machine must not time out.
  address.searchParams.set('connectTimeout', '60000')
  address.searchParams.set('lock_timeout', '60000')
  return address.href
}

function manyRecords(count: number): (new () => object)[] {
  return Array.from({ length: count }, (_, index) => {
    @Record({ table: `followed_${String.fromCharCode(97 + index)}_rows` })
    class Followed {
      @Field('id') id!: number
      @Field('string') name!: string
    }
    return Followed
  })
}

const opened: Database[] = []
async function open(url: string, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = await connect(url, { records: shop, ...options })
  opened.push(database)
  return database
}
const closeAll = async (): Promise<void> => {
  await Promise.all(opened.splice(0).map((database) => database.close()))
}

describeDatabase('PostgreSQL with ?listen=poll&locks=row', () =>
  Promise.resolve({ url: createDatabase }),
)
describeChanges('PostgreSQL with ?listen=poll&locks=row', () =>
  Promise.resolve({ url: createDatabase }),
)

describe('listen=poll', () => {
  let [writer, reader]: [Database, Database] = [] as never
  beforeEach(async () => {
    const url = await createDatabase()
    writer = await open(url)
    reader = await open(url)
    await writer.sync()
  })
  afterEach(closeAll)

  const countRows = async (table: string): Promise<number> => {
    const query = sql<{ count: string }>`select count(*) from ${sql.table(table)}`
    return Number((await query.execute(writer.kysely)).rows[0]?.count)
  }

  it('reports changes to another process, once and in order, for both types of key', () =>
    expectChangesOfBothKeys(writer, reader))

  it('follows many records concurrently without a deadlock, and stores exactly their topics', async () => {
    const records = manyRecords(12)
    const url = await createDatabase()
    const database = await open(url, { records })
    await database.sync()
    for (let iteration = 0; iteration < 3; iteration++) {
      const stop = await database.onChange(() => undefined, { everywhere: true })
      stop()
    }
    const stop = await database.onChange(() => undefined, { everywhere: true })
    const query = sql<{ count: string }>`select count(*) from filigree_listener`
    expect((await query.execute(database.kysely)).rows).toEqual([{ count: '12' }])
    stop()
  })

  it('reports any number of rows, and nothing that is rolled back', async () => {
    const other = await follow(reader)
    await writer
      .transaction(async (tx) => {
        await tx.records(Category).create({ name: 'never' })
        throw new Error('no')
      })
      .catch(() => undefined)
    const names = Array.from({ length: 3000 }, (_, index) => ({ name: `n${index}` }))
    await writer.records(Category).insertMany(names)
    const reportedIds = (): unknown[] => other.changes.flatMap(([, ...ids]) => ids)
    await waitUntil(() => reportedIds().length >= 3000)
    expect(reportedIds()).toStrictEqual((await writer.records(Category).list()).map(({ id }) => id))
  })

  it('writes nothing without followers, and removes followers that leave', async () => {
    await writer.records(Category).create({ name: 'a' })
    expect(await countRows('filigree_change')).toBe(0)
    const other = await follow(reader)
    await writer.records(Category).create({ name: 'b' })
    await other.until(1)
    expect(await countRows('filigree_change')).toBe(1)
    expect(await countRows('filigree_listener')).toBeGreaterThan(0)
    other.stop()
    await waitUntil(async () => (await countRows('filigree_listener')) === 0)
  })

  it('does not report earlier changes to a new follower', async () => {
    const earlyFollower = await follow(reader)
    const a = await writer.records(Category).create({ name: 'a' })
    await earlyFollower.until(1)
    const third = await open((await createUrlOf(writer)) ?? '')
    const lateFollower = await follow(third)
    const b = await writer.records(Category).create({ name: 'b' })
    await Promise.all([earlyFollower.until(2), lateFollower.until(1)])
    expect(earlyFollower.changes).toStrictEqual([
      ['created', a.id],
      ['created', b.id],
    ])
    expect(lateFollower.changes).toStrictEqual([['created', b.id]])
  })

  /** @returns the URL of the same database, with the fallback options */
  const createUrlOf = async (database: Database): Promise<string | undefined> => {
    const query = sql<{ name: string }>`select current_database() as name`
    const name = (await query.execute(database.kysely)).rows[0]?.name
    const address = new URL(server.url)
    address.pathname = `/${name ?? ''}`
    address.search = '?listen=poll&locks=row'
    return address.href
  }
})

;(pgbouncer === undefined ? describe.skip : describe)('behind PgBouncer, without direct', () => {
  afterEach(closeAll)

  it('listen=poll works where LISTEN cannot', async () => {
    const pooler = await startPgBouncer(server.url)
    try {
      const direct = await createDatabase()
      await (await open(direct)).sync()
      const other = await follow(await open(pooler.through(direct)))
      const writer = await open(pooler.through(direct))
      const { id } = await writer.records(Category).create({ name: 'a' })
      await other.until(1)
      expect(other.changes).toStrictEqual([['created', id]])
      await closeAll()
    } finally {
      await pooler.close()
    }
  })
})

describe('locks=row', () => {
  afterEach(closeAll)

  /** Holds the schema lock. @returns a function that releases it */
  const lockSchema = async (database: Database): Promise<() => Promise<void>> => {
    let release: () => void = () => undefined
    let onTaken: () => void = () => undefined
    const locked = new Promise<void>((resolve) => (onTaken = resolve))
    const change = engineOf(database).schema.change(() => {
      onTaken()
      return new Promise<void>((resolve) => (release = resolve))
    })
    await locked
    return () => {
      release()
      return change
    }
  }

  it('lets one process change the schema at a time', async () => {
    const url = await createDatabase()
    const all = await Promise.all(Array.from({ length: 4 }, () => open(url)))
    const done = await Promise.all(all.map((database) => database.sync()))
    expect(done.filter((differences) => differences.length > 0)).toHaveLength(1)
  })

  it('waits for the lock with a warning, and gives up after the timeout', async () => {
    const url = await createDatabase()
    const release = await lockSchema(await open(url))
    const warnings: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => warnings.push(message) }
    const database = await open(`${url}&schemaTimeout=1500`, { log })
    await expect(database.sync()).rejects.toThrow('held by another process')
    expect(warnings).toContain(
      'waiting to change the schema: another process changes the schema: the server does not say which',
    )
    await release()
    expect(await database.sync()).not.toEqual([])
  })

  it('takes over the lock of a lost process', async () => {
    const url = await createDatabase()
    const lostProcess = await open(url)
    const release = await lockSchema(lostProcess)
    const database = await open(url)
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and query like '%filigree_schema_lock for update%'
        and state = 'idle in transaction'`.execute(database.kysely)
    expect(rows).toHaveLength(1)
    const syncing = database.sync()
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(database.kysely)
    await expect(release()).rejects.toThrow()
    expect(await syncing).not.toEqual([])
  })
})

it('invalid values of listen and locks are rejected', async () => {
  await expect(connect(`${server.url}?listen=often`)).rejects.toThrow(
    'The database\'s parameter listen is "often" and must be notify or poll.',
  )
  await expect(connect(`${server.url}?locks=no`)).rejects.toThrow('must be advisory or row')
})
