/** Tables of the framework's own, made when they are first needed, in production too. */
import type { Later } from '../core/later.js'
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

/** Milliseconds between two looks for tables that were not there. */
const pause = 1000

/**
 * What stands on tables that a replica did not have at the start: `absent` until they have come with the primary's changes.
 *
 * @param ensure whether they are there
 */
export function onceThere<T>(ensure: () => Promise<boolean>, there: T, absent: T): () => Later<T> {
  let current = absent
  let askedAt = performance.now()
  return () => {
    if (current === there || performance.now() - askedAt < pause) return current
    askedAt = performance.now()
    return ensure().then((areThere) => (current = areThere ? there : absent))
  }
}

/** What is written to a table that could not be made. */
export function refuseWrite(): never {
  throw new EngineFault('unavailable', 'The database is read-only.', undefined, {
    isReadOnly: true,
  })
}
