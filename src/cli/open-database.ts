/** Opens the database of an application without starting the application. */
import { toDatabaseOptions, type ClosedChoice } from '../bootstrap/storage.js'
import type { planApplication } from '../bootstrap/plan-application.js'
import { silentLog, type Log } from '../core/log.js'
import { createDatabase, Database } from '../records/database.js'
import type { Terminal } from './terminal.js'

type Plan = Pick<Awaited<ReturnType<typeof planApplication>>, 'records' | 'environment'>

/** @param given the option `database` of the application. @throws {DeclarationError} as `connect` does */
export async function openDatabase(
  { records, environment }: Plan,
  given: unknown,
  terminal: Terminal,
): Promise<Database> {
  const database = given ?? environment.databaseUrl
  const open =
    database instanceof Database
      ? database
      : await createDatabase({
          records,
          ...toDatabaseOptions(database as ClosedChoice),
          direct: environment.databaseDirectUrl,
          log: warningsTo(terminal),
        })
  for (const record of records) open.table(record)
  return open
}

/** Shows warnings, for example while it waits for a lock. */
function warningsTo({ err }: Terminal): Log {
  const warn = (_details: object, message: string): void => {
    void err(`${message}\n`)
  }
  return { ...silentLog, warn, error: warn }
}
