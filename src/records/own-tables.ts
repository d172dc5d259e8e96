/**
 * The framework's own tables, which are created when they are first needed, in production too. Also empties all tables,
 * for tests.
 */
import { after, type MaybePromise } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import type { DatabaseTimeouts } from './database-timeouts.js'
import type { Table } from './model/table.js'
import { throwUnavailable } from './statements/client-errors.js'
import type { RecordsContext } from './statements/source.js'
import { EngineError } from '../engines/contract/engine-error.js'
import { frameworkQuery, frameworkScript } from '../engines/contract/statement.js'

/** The part of `Database` that keeps the framework's own tables. */
interface OwnTables {
  readonly context: RecordsContext
  /** The tables of records. */
  readonly tables: ReadonlySet<Table>
  /** The names of the framework's own tables. */
  readonly ownTables: Set<string>
  timeouts(milliseconds: number): DatabaseTimeouts
  openTransaction(): OpenTransaction | undefined
}

/**
 * @param sql a script that creates the table if it is missing
 * @returns false if it is missing and cannot be created, as on a replica
 */
export async function createOwnTable(
  database: OwnTables,
  name: string,
  sql: string,
): Promise<boolean> {
  const { engine } = database.context
  database.ownTables.add(name)
  if (await hasTable(database, name)) return true
  if (engine.status.isReadOnly()) return false
  // Two processes that start together must not both create it. `schema.change` runs one at a time.
  await engine.schema.change(async (runner) => {
    await runner.run(frameworkScript(sql), [], 'nothing')
  })
  return true
}

/** Selects only the name, so that a locked table costs neither time nor a connection. */
export async function hasTable(
  { context: { engine, dialect } }: OwnTables,
  name: string,
): Promise<boolean> {
  // If the primary is unavailable, a replica reports which tables exist.
  const isFresh = !engine.status.isReadOnly()
  // Named, so that tests which count the statements of an application do not count it.
  const query = frameworkQuery(dialect.tables.named, { isFresh, tables: [name] })
  return (await engine.run(query, [name], 'first')) !== undefined
}

/** The latest timestamp of JavaScript's dates. It means "never expires". */
const maxTimestamp = 8.64e15

/** Milliseconds since 1970, limited to the range of the `bigint` columns, because a token may claim any end. */
export function toTimestamp(timestamp: number): number {
  return Math.min(Math.ceil(timestamp), maxTimestamp)
}

/** Milliseconds that a request waits for a query about its caller. After that it fails with 503. */
const callerTimeout = 2000

/** Limits queries of the framework's own tables for a request. A database within the process needs no timeout. */
export function createTimedRunner(
  database: OwnTables,
): <T>(work: () => MaybePromise<T>) => MaybePromise<T> {
  if (!database.context.dialect.can.outages) return (work) => work()
  const timeouts = database.timeouts(callerTimeout)
  return (work) => (database.openTransaction() === undefined ? timeouts.run(work) : work())
}

/** Milliseconds between two checks for missing tables. */
const pause = 1000

type Methods = Readonly<Record<string, ((...args: unknown[]) => unknown) | undefined>>

/**
 * Returns a store for tables that a replica did not have at the start.
 *
 * @param ensure returns whether the tables exist
 * @param available the store after replication has created them
 * @param absent the methods until then. The methods that it does not have are refused
 */
export function whenAvailable<Store extends object>(
  ensure: () => Promise<boolean>,
  available: Store,
  absent: Partial<Store>,
): Store {
  let current = absent
  let checkedAt = performance.now()
  const find = (): MaybePromise<Partial<Store>> => {
    if (current === available || performance.now() - checkedAt < pause) return current
    checkedAt = performance.now()
    return ensure().then((isAvailable) => (current = isAvailable ? available : absent))
  }
  const methods = Object.keys(available).map((name) => [
    name,
    (...args: unknown[]) =>
      after(find(), (store) => ((store as Methods)[name] ?? throwReadOnly)(...args)),
  ])
  return Object.fromEntries(methods) as Store
}

/** Refuses writes to a table that could not be created. */
function throwReadOnly(): never {
  const details = { isReadOnly: true }
  throwUnavailable(new EngineError('unavailable', 'The database is read-only.', undefined, details))
}

const excludedTables = new Set(['filigree_migration'])

/**
 * Deletes all rows of the records, of link tables, and of the framework's own tables except the migrations. All rows are
 * deleted or none, and generated keys restart at 1.
 */
export async function emptyTables(database: OwnTables): Promise<void> {
  const { engine, dialect } = database.context
  const tableNames = new Set([...database.ownTables].filter((name) => !excludedTables.has(name)))
  for (const { name, relations } of database.tables) {
    tableNames.add(name)
    for (const { join } of relations.values()) if (join !== undefined) tableNames.add(join.name)
  }
  const names = [...tableNames].map(dialect.tables.nameOf)
  const catalogue = await engine.schema.catalogue(engine, names)
  const existingTables = names.filter((name) => {
    const table = catalogue.get(name)
    return table !== undefined && table.isForeign !== true
  })
  await engine.schema.change((runner) => dialect.tables.changes.empty(runner, existingTables))
}
