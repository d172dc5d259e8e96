/** The databases on which the suites of jobs run. */
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'

let server: PostgresServer | undefined

/** Each function returns the address of an empty database, or opens one in memory. */
export const jobDatabases: readonly (readonly [name: string, open: () => Promise<string>])[] = [
  ['SQLite', () => Promise.resolve('sqlite::memory:')],
  [
    'PostgreSQL',
    async () => {
      server ??= await startPostgres()
      return server.createDatabase()
    },
  ],
]

export async function closeJobDatabases(): Promise<void> {
  await server?.close()
  server = undefined
}
