/** The engines a suite runs on: SQLite in memory, and PostgreSQL. */
import { afterAll } from '@jest/globals'
import { openEmptyCitus } from '../scaling/citus/coordinator.js'
import { emptyTables, startPostgres, type PostgresServer } from './postgres-server.js'

/** A row of `describe.each`: the engine's name, and a function that returns the URL of an empty database. */
type Engine = [name: string, open: () => Promise<string>]

/**
 * @returns a function that opens a new database of SQLite, or one and the same database of PostgreSQL with empty tables:
 * for tests that each begin without rows. What used it before has to be closed.
 */
export function reusing(open: Engine[1]): Engine[1] {
  let url: string | undefined
  return async () => {
    if (url?.startsWith('postgres') === true) await emptyTables(url)
    else url = await open()
    return url
  }
}

/** Starts a PostgreSQL server for the suite and stops it after the last test. `npm run citus` runs on Citus instead. */
export async function startBothEngines(): Promise<Engine[]> {
  if (process.env.TEST_ENGINE === 'citus') return [['Citus', openEmptyCitus]]
  const server = await startPostgres()
  afterAll(() => server.close())
  return bothEngines(server)
}

export function bothEngines(server: PostgresServer): Engine[] {
  return [
    ['SQLite', () => Promise.resolve('sqlite::memory:')],
    ['PostgreSQL', () => server.createDatabase()],
  ]
}
