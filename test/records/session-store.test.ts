import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Clock, connect, type Database } from '../../src/index.js'
import { describeRevocations } from '../contracts/revocations.contract.js'
import { describeSessionStore } from '../contracts/session-store.contract.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import {
  createDatabaseRevocations,
  createDatabaseSessionStore,
  createMemoryRevocations,
} from '../contracts/login-stores.js'

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

describeRevocations('memory', async (now) => {
  const first = createMemoryRevocations(now)
  return { first, second: first, close: () => Promise.resolve() }
})

describe.each(['SQLite', 'PostgreSQL'])('in %s', (engine) => {
  describeRevocations(engine, async (now) => {
    const database = await (engine === 'SQLite'
      ? connect('sqlite::memory:')
      : connect(await server.createDatabase()))
    class MovedClock extends Clock {
      override moved = () => now() - Date.now()
    }
    const first = await createDatabaseRevocations(database, { clock: new MovedClock() })
    const other = await createDatabaseRevocations(database, { clock: new MovedClock() })
    return { first, second: other, close: () => database.close() }
  })
})

it('revocations of a database are read again after 5 seconds', async () => {
  await using database = await connect('sqlite::memory:')
  expect((await createDatabaseRevocations(database)).trustFor).toBe(5000)
})
