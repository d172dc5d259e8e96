import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MemoryExpiringStore } from '../../src/core/expiring-store.js'
import { pglite } from '../../src/index.js'
import { connect } from '../../src/records/connect.js'
import type { Database } from '../../src/records/database.js'
import { createExpiringTable, type ExpiringTable } from '../../src/records/expiring-table.js'
import { describeExpiringStore, type Sample } from '../contracts/expiring-store.contract.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

const samples: ExpiringTable<Sample> = {
  name: 'filigree_sample',
  createTable: `create table if not exists filigree_sample (
    name text primary key not null,
    number bigint not null,
    text text not null,
    ends_at bigint not null
  )`,
  key: 'name',
  columns: ['number', 'text'],
  expiresAt: 'ends_at',
  toColumns: ({ number, text }) => ({ number, text }),
  fromColumns: ([number, text]) => ({ number: Number(number), text: String(text) }),
}

describeExpiringStore('memory', () => {
  const store = new MemoryExpiringStore<Sample>()
  return { first: store, second: store }
})

describe.each<[string, (server: PostgresServer) => Promise<[Database, Database]>]>([
  ['SQLite', async () => asTwo(await connect('sqlite::memory:'))],
  ['PGlite', async () => asTwo(await connect({ engine: pglite() }))],
  [
    'PostgreSQL',
    async (server) => {
      const url = await server.createDatabase()
      return [await connect(url), await connect(url)]
    },
  ],
])('%s', (engine, openDatabases) => {
  let server: PostgresServer
  let databases: [Database, Database]

  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    databases = await openDatabases(server)
  })
  afterAll(async () => {
    for (const database of new Set(databases)) await database.close()
    if (engine === 'PostgreSQL') await server.close()
  })

  describeExpiringStore(engine, async () => {
    const [first, second] = databases
    const stores = {
      first: await createExpiringTable(first, samples),
      second: await createExpiringTable(second, samples),
    }
    await first.kysely.deleteFrom('filigree_sample').execute()
    return stores
  })

  it('a rolled back transaction stores nothing, and does not remove expired entries', async () => {
    const [database] = databases
    const store = await createExpiringTable(database, samples)
    await store.set('expired', { number: 1, text: '' }, 10)
    const work = database.transaction(async () => {
      await store.set('a', { number: 2, text: '' }, 100)
      await store.deleteExpired(50)
      expect(await store.get('expired', 0)).toEqual({ number: 1, text: '' })
      throw new Error('rolled back')
    })
    await expect(work).rejects.toThrow('rolled back')
    expect(await store.get('a', 0)).toBeUndefined()
  })

  it('rows are removed after the grace period, at most once in the sweep interval', async () => {
    const [database] = databases
    const table = { ...samples, graceMs: 100, sweepInterval: 1000 }
    const store = await createExpiringTable(database, table)
    for (const [key, expiresAt] of [
      ['a', 1000],
      ['b', 1001],
      ['c', 1500],
    ] as const)
      await store.set(key, { number: 1, text: key }, expiresAt)
    const remaining = async (): Promise<string[]> => {
      const found = await Promise.all(['a', 'b', 'c'].map(async (key) => store.get(key, 0)))
      return found.flatMap((sample) => sample?.text ?? [])
    }
    await store.deleteExpired(1100)
    expect(await remaining()).toEqual(['b', 'c'])
    await store.deleteExpired(2099)
    expect(await remaining()).toEqual(['b', 'c'])
    await store.deleteExpired(2100)
    expect(await remaining()).toEqual([])
  })
})

function asTwo(database: Database): [Database, Database] {
  return [database, database]
}

describe('MemoryExpiringStore', () => {
  it('drops the entry that was stored longest ago when it is full', () => {
    const store = new MemoryExpiringStore<string>({ maxEntries: 2 })
    store.set('a', 'one', 1000)
    store.set('b', 'two', 1000)
    store.replace('a', 'three', 1000)
    store.set('c', 'four', 1000)
    expect(['a', 'b', 'c'].map((key) => store.get(key, 0))).toEqual(['three', undefined, 'four'])
  })

  it('removes expired entries at most once in the sweep interval', () => {
    const store = new MemoryExpiringStore<string>({ sweepInterval: 1000 })
    store.set('a', 'one', 100)
    store.deleteExpired(50)
    store.deleteExpired(1049)
    expect(store.get('a', 0)).toBe('one')
    store.deleteExpired(1050)
    expect(store.get('a', 0)).toBeUndefined()
  })
})
