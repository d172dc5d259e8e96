import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type Database } from '../../src/records/database.js'
import { createDatabaseRevocations } from '../../src/records/revocations.js'
import { createDatabaseSessionStore } from '../../src/records/session-store.js'
import { describeSessionStore } from '../contracts/session-store.contract.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

let server: PostgresServer
let shared: Database

beforeAll(async () => {
  server = await startPostgres()
  shared = await connect(await server.createDatabase())
})
afterAll(async () => {
  await shared.close()
  await server.close()
})

describeSessionStore('SQLite', async () => {
  const database = await connect('sqlite::memory:')
  return { store: await createDatabaseSessionStore(database), close: () => database.close() }
})

describeSessionStore('PostgreSQL', async () => {
  const store = await createDatabaseSessionStore(shared)
  await shared.kysely.deleteFrom('filigree_session').execute()
  return { store }
})

describe.each(['SQLite', 'PostgreSQL'])('revocations in %s', (engine) => {
  const open = async (): Promise<Database> =>
    engine === 'SQLite' ? connect('sqlite::memory:') : connect(await server.createDatabase())

  it('holds until the moment is over, the longest that was said', async () => {
    await using database = await open()
    const revocations = await createDatabaseRevocations(database, { now: () => 100 })
    expect(await revocations.has('a', 100)).toBe(false)
    await revocations.add('a', 2000)
    await revocations.add('a', 1000)
    expect(await revocations.has('a', 1999)).toBe(true)
    expect(await revocations.has('a', 2000)).toBe(false)
    expect(await revocations.has('b', 100)).toBe(false)
  })

  it('keeps one that never ends, and drops what is over', async () => {
    await using database = await open()
    let now = 0
    const revocations = await createDatabaseRevocations(database, { now: () => now })
    await revocations.add('for ever', Infinity)
    await revocations.add('short', 10)
    now = 1e12
    await revocations.add('other', 2e12)
    expect(await revocations.has('for ever', 8e12)).toBe(true)
    const rows = await database.kysely.selectFrom('filigree_revocation').select('jti').execute()
    expect(rows.map(({ jti }) => jti).sort()).toStrictEqual(['for ever', 'other'])
  })

  it('is seen by another connection', async () => {
    await using database = await open()
    const here = await createDatabaseRevocations(database)
    const there = await createDatabaseRevocations(database)
    await here.add('a', 8e12)
    expect(await there.has('a', Date.now())).toBe(true)
    expect(there.trustFor).toBe(5000)
  })
})
