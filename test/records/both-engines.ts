/** The engines a suite runs on: SQLite in memory, and PostgreSQL. */
import { afterAll } from '@jest/globals'
import { startPostgres, type PostgresServer } from './postgres-server.js'

/** A row of `describe.each`: the engine's name, and a function that returns the URL of an empty database. */
type Engine = [name: string, open: () => Promise<string>]

/** Starts a PostgreSQL server for the suite and stops it after the last test. */
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
