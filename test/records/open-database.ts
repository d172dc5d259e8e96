/** What the public type of a database leaves out, for tests of things that applications cannot see. */
import type { Database, EngineSource } from '../../src/index.js'
import type { Engine } from '../../src/engines/contract/engine.js'
import { EngineError } from '../../src/engines/contract/engine-error.js'
import { openEngine } from '../../src/engines/engine-for-url.js'
import {
  frameworkChange,
  frameworkQuery,
  frameworkScript,
} from '../../src/engines/contract/statement.js'
import { ClientRecords } from '../../src/records/clients/client-records.js'
import type { Database as OpenDatabase } from '../../src/records/database.js'
import { ClientView } from '../../src/records/policy/client-view.js'
import { anonymous } from '../../src/records/rights/caller.js'
import type { Class } from '../public-types.js'

export { EngineError, frameworkChange, frameworkQuery, frameworkScript }

/** @returns the same database with its tables, change feed, table sizes and pipelined writes */
export function internalsOf(database: Database): OpenDatabase {
  return database as OpenDatabase
}

/** @returns the engine that runs the statements of the database */
export function engineOf(database: Database): Engine {
  return internalsOf(database).context.engine
}

/** @returns the source of an engine whose statements end after this many milliseconds */
export function withStatementTimeout(url: string, statementTimeout: number): EngineSource {
  return { open: (options) => openEngine(url, { ...options, statementTimeout }) }
}

/** @returns the view of an anonymous client, which refuses hidden fields itself */
export function anonymousView(database: Database): ClientView {
  const { context, log } = internalsOf(database)
  return new ClientView({ context, caller: anonymous, log })
}

/** @returns the records as an anonymous client reads them, without the checks of an interface */
export function anonymousRecords<T extends object>(
  database: Database,
  type: Class<T>,
): ClientRecords<T> {
  return new ClientRecords(internalsOf(database), database.records(type), anonymous)
}
