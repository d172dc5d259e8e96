/** Tables of the framework's own, made when they are first needed, in production too. */
import type { Database } from './database.js'
import { EngineFault } from './engines/engine.js'

/**
 * @param sql a script that makes the table where it is not there
 * @returns false where it is not there and cannot be made: on a replica
 */
export async function ensureTable(database: Database, name: string, sql: string): Promise<boolean> {
  const { engine } = database.context
  if ((await engine.catalogue(engine)).has(name)) return true
  if (engine.isReadOnly === true) return false
  // Two processes that start together must not both make it: the schema is one's at a time.
  await engine.changeSchema(async (runner) => {
    await runner.script(sql)
  })
  return true
}

/** What is written to a table that could not be made. */
export function refuseWrite(): never {
  throw new EngineFault('unavailable', 'The database is read-only.', undefined, {
    isReadOnly: true,
  })
}
