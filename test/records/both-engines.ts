/** Both engines, for suites that run on each: SQLite in memory, and PostgreSQL. */
import { afterAll } from '@jest/globals'
import { startPostgres, type PostgresServer } from './postgres-server.js'

/** An engine's name, and a function that gives the address of an empty database: a row of `describe.each`. */
type Engine = [name: string, open: () => Promise<string>]

/** With a PostgreSQL of the suite's own, which ends with it. */
export async function startBothEngines(): Promise<Engine[]> {
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
