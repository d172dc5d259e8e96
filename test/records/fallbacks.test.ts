/**
 * What PostgreSQL does as if it lacked LISTEN and advisory locks, as some servers that speak its protocol do. Source:
 * docs/scaling.md, Distributed engines.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { Field, Record } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { connect, type Database } from '../../src/records/database.js'
import type { DatabaseOptions } from '../../src/records/database-options.js'
import { describeChanges } from '../contracts/changes.contract.js'
import { describeDatabase } from '../contracts/database.contract.js'
import { follow } from './follower.js'
import { pgbouncer, startPgBouncer } from './pgbouncer.js'
import { startPostgres } from './postgres-server.js'
import { Author, Category, shop } from './shop.js'

const server = await startPostgres()
afterAll(() => server.close())

async function createDatabase(): Promise<string> {
  const address = new URL(await server.createDatabase())
  address.searchParams.set('listen', 'poll')
  address.searchParams.set('locks', 'row')
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
  let [here, there]: [Database, Database] = [] as never
  beforeEach(async () => {
    const url = await createDatabase()
    here = await open(url)
    there = await open(url)
    await here.sync()
  })
  afterEach(closeAll)

  const counted = async (table: string): Promise<number> => {
    const asked = sql<{ count: string }>`select count(*) from ${sql.table(table)}`
    return Number((await asked.execute(here.kysely)).rows[0]?.count)
  }

  it('tells another process of changes, once and in order, by keys of either kind', async () => {
    const categories = await follow(there)
    const authors = await follow(there, Author)
    const a = await here.records(Category).create({ name: 'a' })
    await here.records(Category).update(a.id, { name: 'b' })
    await here.records(Category).delete(a.id)
    const ann = await here.records(Author).create({ name: 'Ann' })
    await Promise.all([categories.until(3), authors.until(1)])
    const last = await here.records(Category).create({ name: 'c' })
    await categories.until(4)
    expect(categories.seen).toStrictEqual([
      ['created', a.id],
      ['updated', a.id],
      ['deleted', a.id],
      ['created', last.id],
    ])
    expect(authors.seen).toStrictEqual([['created', ann.id]])
  })

  it('follows many records at once without a deadlock, and stores exactly their topics', async () => {
    const records = manyRecords(12)
    const url = await createDatabase()
    const database = await open(url, { records })
    await database.sync()
    for (let round = 0; round < 3; round++) {
      const stop = await database.onChange(() => undefined, { everywhere: true })
      stop()
    }
    const stop = await database.onChange(() => undefined, { everywhere: true })
    const asked = sql<{ count: string }>`select count(*) from filigree_listener`
    expect((await asked.execute(database.kysely)).rows).toEqual([{ count: '12' }])
    stop()
  })

  it('carries as many rows as there are, and nothing of what is taken back', async () => {
    const other = await follow(there)
    await here
      .transaction(async (tx) => {
        await tx.records(Category).create({ name: 'never' })
        throw new Error('no')
      })
      .catch(() => undefined)
    const names = Array.from({ length: 3000 }, (_, index) => ({ name: `n${index}` }))
    await here.records(Category).insertMany(names)
    const told = (): unknown[] => other.seen.flatMap(([, ...ids]) => ids)
    while (told().length < 3000) await other.until(other.seen.length + 1)
    expect(told()).toStrictEqual((await here.records(Category).list()).map(({ id }) => id))
  })

  it('writes nothing while nobody else follows, and forgets who has left', async () => {
    await here.records(Category).create({ name: 'a' })
    expect(await counted('filigree_change')).toBe(0)
    const other = await follow(there)
    await here.records(Category).create({ name: 'b' })
    await other.until(1)
    expect(await counted('filigree_change')).toBe(1)
    expect(await counted('filigree_listener')).toBeGreaterThan(0)
    other.stop()
    while ((await counted('filigree_listener')) > 0);
  })

  it('does not tell a late follower of what was told before', async () => {
    const early = await follow(there)
    const a = await here.records(Category).create({ name: 'a' })
    await early.until(1)
    const third = await open((await createUrlOf(here)) ?? '')
    const late = await follow(third)
    const b = await here.records(Category).create({ name: 'b' })
    await Promise.all([early.until(2), late.until(1)])
    expect(early.seen).toStrictEqual([
      ['created', a.id],
      ['created', b.id],
    ])
    expect(late.seen).toStrictEqual([['created', b.id]])
  })

  /** Of the database that one is open on. */
  const createUrlOf = async (database: Database): Promise<string | undefined> => {
    const asked = sql<{ name: string }>`select current_database() as name`
    const name = (await asked.execute(database.kysely)).rows[0]?.name
    const address = new URL(server.url)
    address.pathname = `/${name ?? ''}`
    address.search = '?listen=poll&locks=row'
    return address.href
  }
})

;(pgbouncer === undefined ? describe.skip : describe)('behind PgBouncer, without direct', () => {
  afterEach(closeAll)

  it('listen=poll hears what LISTEN cannot', async () => {
    const pooler = await startPgBouncer(server.url)
    try {
      const direct = await createDatabase()
      await (await open(direct)).sync()
      const other = await follow(await open(pooler.through(direct)))
      const here = await open(pooler.through(direct))
      const { id } = await here.records(Category).create({ name: 'a' })
      await other.until(1)
      expect(other.seen).toStrictEqual([['created', id]])
      await closeAll()
    } finally {
      await pooler.close()
    }
  })
})

describe('locks=row', () => {
  afterEach(closeAll)

  /** Changes the schema until it is let go. */
  const hold = async (database: Database): Promise<() => Promise<void>> => {
    let letGo: () => void = () => undefined
    let taken: () => void = () => undefined
    const isTaken = new Promise<void>((resolve) => (taken = resolve))
    const change = database.context.engine.changeSchema(() => {
      taken()
      return new Promise<void>((resolve) => (letGo = resolve))
    })
    await isTaken
    return () => {
      letGo()
      return change
    }
  }

  it('lets one change the schema at a time, and leaves nothing behind', async () => {
    const url = await createDatabase()
    const all = await Promise.all(Array.from({ length: 4 }, () => open(url)))
    const done = await Promise.all(all.map((database) => database.sync()))
    expect(done.filter((differences) => differences.length > 0)).toHaveLength(1)
  })

  it('waits for who holds it, says so, and gives up in time', async () => {
    const url = await createDatabase()
    const letGo = await hold(await open(url))
    const told: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => told.push(message) }
    const database = await open(`${url}&schemaTimeout=1500`, { log })
    await expect(database.sync()).rejects.toThrow('held by another process')
    expect(told).toContain(
      'waiting to change the schema: another process changes the schema: the server does not say which',
    )
    await letGo()
    expect(await database.sync()).not.toEqual([])
  })

  it('goes on at once behind a process that was lost', async () => {
    const url = await createDatabase()
    const lost = await open(url)
    const letGo = await hold(lost)
    const database = await open(url)
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and query like '%filigree_schema_lock for update%'
        and state = 'idle in transaction'`.execute(database.kysely)
    expect(rows).toHaveLength(1)
    const syncing = database.sync()
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(database.kysely)
    await expect(letGo()).rejects.toThrow()
    expect(await syncing).not.toEqual([])
  })
})

it('words that mean nothing are refused', async () => {
  await expect(connect(`${server.url}?listen=often`)).rejects.toThrow(
    'The database\'s parameter listen is "often" and must be notify or poll.',
  )
  await expect(connect(`${server.url}?locks=no`)).rejects.toThrow('must be advisory or row')
})
