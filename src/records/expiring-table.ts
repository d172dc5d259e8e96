/** Stores values under a key until a time in a table of the database, for all processes that use it. */
import type { ExpiringStore } from '../core/expiring-store.js'
import { after, attempt, type MaybePromise } from '../core/maybe-promise.js'
import type { Row, Statement } from '../engines/contract/engine.js'
import { briefFrameworkQuery, frameworkChange } from '../engines/contract/statement.js'
import type { Database } from './database.js'
import {
  createTimedRunner,
  createOwnTable,
  throwReadOnly,
  toTimestamp,
  whenAvailable,
} from './own-tables.js'

/** A table for one kind of values. */
export interface ExpiringTable<Value> {
  readonly name: string
  /** A script that creates the table if it is missing. */
  readonly createTable: string
  /** The column of the keys, which is the primary key. */
  readonly key: string
  /** The columns of the values. */
  readonly columns: readonly string[]
  /** The column of the expiry times, a `bigint`. */
  readonly expiresAt: string
  readonly toColumns: (value: Value) => readonly unknown[]
  readonly fromColumns: (columns: Row) => Value
  /** Milliseconds between two removals of expired rows. Default: 0, so that every call removes them. */
  readonly sweepInterval?: number
  /**
   * Milliseconds after which an expired row is removed. The value may still be valid by the clock of another process.
   * Default: 0
   */
  readonly graceMs?: number
  /** Converts the errors of the database. It throws. */
  readonly refuse?: (error: unknown) => never
}

/** @returns the store, after its table has been created */
export async function createExpiringTable<Value>(
  database: Database,
  table: ExpiringTable<Value>,
): Promise<ExpiringStore<Value>> {
  const ensure = (): Promise<boolean> => createOwnTable(database, table.name, table.createTable)
  const isThere = await ensure()
  const store = toExpiringStore(database, table)
  if (isThere) return store
  const { refuse } = table
  const absent = { get: () => undefined, deleteExpired: () => undefined }
  return whenAvailable(ensure, store, absent, () =>
    refuse === undefined ? throwReadOnly() : (attempt<never>(throwReadOnly, refuse) as never),
  )
}

/** @returns the store of a table that exists, or whose existence the caller checks */
export function toExpiringStore<Value>(
  database: Database,
  table: ExpiringTable<Value>,
): ExpiringStore<Value> {
  const { refuse, toColumns, fromColumns } = table
  const statements = writeStatements(database, table)
  const runTimed = createTimedRunner(database)
  const run = <T>(work: () => MaybePromise<T>): MaybePromise<T> =>
    refuse === undefined ? runTimed(work) : attempt(() => runTimed(work), refuse)
  const count = (statement: Statement, values: readonly unknown[]): MaybePromise<number> =>
    run(() => database.runner().run(statement, values, 'count'))
  const change = (statement: Statement, values: readonly unknown[]): MaybePromise<void> =>
    after(count(statement, values), () => undefined)
  const sweep = createSweep(database, table)
  return {
    get: (key, now) =>
      after(
        run(() => database.runner().run(statements.get, [key, now], 'first')),
        (row) => (row === undefined ? undefined : fromColumns(row)),
      ),
    set: (key, value, expiresAt) =>
      change(statements.set, [key, ...toColumns(value), toTimestamp(expiresAt)]),
    replace: (key, value, expiresAt) =>
      change(statements.replace, [...toColumns(value), toTimestamp(expiresAt), key]),
    add: (key, value, expiresAt) =>
      after(
        count(statements.add, [key, ...toColumns(value), toTimestamp(expiresAt)]),
        (added) => added > 0,
      ),
    getOrAdd: (key, value, expiresAt) => {
      const values = [key, ...toColumns(value), toTimestamp(expiresAt)]
      return after(
        run(() => database.runner().run(statements.getOrAdd, values, 'rows')),
        ([row]) => (row === undefined ? value : fromColumns(row)),
      )
    },
    extend: (key, expiresAt) => {
      const end = toTimestamp(expiresAt)
      return change(statements.extend, [end, key, end])
    },
    delete: (key) => change(statements.delete, [key]),
    deleteExpired: (now) =>
      after(
        run(() => sweep(now)),
        () => undefined,
      ),
  }
}

/** The parts of a table that its sweep uses. */
type SweptTable = Pick<ExpiringTable<unknown>, 'name' | 'expiresAt' | 'graceMs' | 'sweepInterval'>

/**
 * @returns a function that removes expired rows. It does nothing within the sweep interval, and in a transaction, because two
 * transactions that delete the same rows block each other
 */
export function createSweep(
  database: Database,
  { name, expiresAt, graceMs = 0, sweepInterval = 0 }: SweptTable,
): (now: number) => MaybePromise<unknown> {
  const { engine, dialect } = database.context
  const statement = frameworkChange(
    'delete',
    `delete from ${name} where ${expiresAt} <= ${dialect.statements.placeholder(1)}`,
    { tables: [name], isFresh: true },
  )
  let nextSweep = -Infinity
  return (now) => {
    if (now < nextSweep || database.openTransaction() !== undefined) return undefined
    nextSweep = now + sweepInterval
    return engine.run(statement, [now - graceMs], 'count')
  }
}

type NamedColumns = Pick<ExpiringTable<unknown>, 'name' | 'key' | 'columns' | 'expiresAt'>
type StatementName = 'get' | 'set' | 'replace' | 'add' | 'getOrAdd' | 'extend' | 'delete'

function writeStatements(
  { context: { dialect } }: Database,
  { name, key, columns, expiresAt }: NamedColumns,
): Readonly<Record<StatementName, Statement>> {
  const { placeholder: p } = dialect.statements
  const properties = { tables: [name], isFresh: true } as const
  const change = (kind: 'insert' | 'update' | 'upsert' | 'delete', sql: string): Statement =>
    frameworkChange(kind, sql, properties)
  const all = [key, ...columns, expiresAt]
  const changed = [...columns, expiresAt]
  const selected = columns.length === 0 ? '1' : columns.join(', ')
  const insert = `insert into ${name} (${all.join(', ')})
     values (${all.map((_, index) => p(index + 1)).join(', ')})`
  return {
    get: briefFrameworkQuery(
      (value) =>
        `select ${selected} from ${name} where ${key} = ${value(1)} and ${expiresAt} > ${value(2)}`,
      p,
      { ...properties, bound: 1 },
    ),
    set: change(
      'upsert',
      `${insert}
       on conflict (${key}) do update set ${changed.map((one) => `${one} = excluded.${one}`).join(', ')}`,
    ),
    replace: change(
      'update',
      `update ${name} set ${changed.map((one, index) => `${one} = ${p(index + 1)}`).join(', ')}
       where ${key} = ${p(changed.length + 1)}`,
    ),
    add: change('insert', `${insert} on conflict (${key}) do nothing`),
    // The update changes nothing. It makes the statement return the existing row, also to the later of two callers.
    getOrAdd: change(
      'upsert',
      `${insert} on conflict (${key}) do update set ${key} = excluded.${key} returning ${selected}`,
    ),
    extend: change(
      'update',
      `update ${name} set ${expiresAt} = ${p(1)} where ${key} = ${p(2)} and ${expiresAt} < ${p(3)}`,
    ),
    delete: change('delete', `delete from ${name} where ${key} = ${p(1)}`),
  }
}
