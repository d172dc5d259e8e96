/** The framework's own tables. They are created when they are first needed, in production too. */
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Database } from './database.js'
import { EngineError } from '../engines/contract/engine-error.js'
import { frameworkQuery, frameworkScript } from '../engines/contract/statement.js'

/**
 * @param sql a script that creates the table if it is missing
 * @returns false if it is missing and cannot be created: on a replica
 */
export async function ensureTable(database: Database, name: string, sql: string): Promise<boolean> {
  const { engine } = database.context
  database.ownTables.add(name)
  if (await hasTable(database, name)) return true
  if (engine.isReadOnly === true) return false
  // Two processes that start together must not both create it; `changeSchema` lets one in at a time.
  await engine.changeSchema(async (runner) => {
    await runner.run(frameworkScript(sql), [], 'nothing')
  })
  return true
}

/** Asks for the name alone: a table that somebody has locked costs neither time nor a connection. */
export async function hasTable(
  { context: { engine, dialect } }: Database,
  name: string,
): Promise<boolean> {
  // A primary that is gone cannot be asked: its replicas say which tables there were.
  const isFresh = engine.isReadOnly !== true
  const query = frameworkQuery(dialect.tableNamed, { isFresh })
  return (await engine.run(query, [name], 'first')) !== undefined
}

/** The latest moment that JavaScript's dates can hold; stands for "for ever". */
const never = 8.64e15

/** Milliseconds since 1970 as `bigint` columns keep them, whatever a token says of its end. */
export function toMoment(moment: number): number {
  return Math.min(Math.ceil(moment), never)
}

/** Milliseconds that a request waits for what is known of its caller; then it is 503. */
const patience = 2000

/** What asks a table of the framework's own for a request. A database within the process is not waited for. */
export function askWithin(database: Database): <T>(work: () => MaybePromise<T>) => MaybePromise<T> {
  if (database.context.dialect.isLocal) return (work) => work()
  const store = database.timeouts(patience)
  return (work) => (database.openTransaction() === undefined ? store.run(work) : work())
}

/** Milliseconds between two checks for missing tables. */
const pause = 1000

/**
 * Gives what works on tables that a replica did not have at the start: `absent` until the primary's changes bring them.
 *
 * @param ensure tells whether the tables exist
 */
export function onceThere<T>(
  ensure: () => Promise<boolean>,
  there: T,
  absent: T,
): () => MaybePromise<T> {
  let current = absent
  let askedAt = performance.now()
  return () => {
    if (current === there || performance.now() - askedAt < pause) return current
    askedAt = performance.now()
    return ensure().then((areThere) => (current = areThere ? there : absent))
  }
}

/** Refuses writes to a table that could not be created. */
export function refuseWrite(): never {
  throw new EngineError('unavailable', 'The database is read-only.', undefined, {
    isReadOnly: true,
  })
}
