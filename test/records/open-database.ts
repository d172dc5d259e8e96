/** What the public type of a database leaves out, for tests of things that applications cannot see. */
import type { Database } from '../../src/index.js'
import type { Engine } from '../../src/engines/contract/engine.js'
import type { Database as OpenDatabase } from '../../src/records/database.js'

/** @returns the same database with its tables, change feed, table sizes and pipelined writes */
export function internalsOf(database: Database): OpenDatabase {
  return database as OpenDatabase
}

/** @returns the engine that runs the statements of the database */
export function engineOf(database: Database): Engine {
  return internalsOf(database).context.engine
}
