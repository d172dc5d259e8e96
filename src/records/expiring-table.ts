/** Stores values under a key until a time in a table of the database, for all processes that use it. */
import type { ExpiringStore } from '../core/expiring-store.js'
import { after, type MaybePromise } from '../core/maybe-promise.js'
import type { Row } from '../engines/contract/engine.js'
import type { Database } from './database.js'
import { createTimedRunner, createOwnTable, toTimestamp, whenAvailable } from './own-tables.js'
import {
  PreparedSql,
  type PreparedSqlOptions,
  type SqlFragments,
  type SqlValues,
} from './prepared-sql.js'

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
  /** Returns the values by column. */
  readonly toColumns: (value: Value) => SqlValues
  readonly fromColumns: (columns: Row) => Value
  /** Milliseconds between two removals of expired rows. Default: 0, so that every call removes them. */
  readonly sweepInterval?: number
  /**
   * Milliseconds after which an expired row is removed. The value may still be valid by the clock of another process.
   * Default: 0
   */
  readonly graceMs?: number
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
  return whenAvailable(ensure, store, { get: () => undefined, deleteExpired: () => undefined })
}

/** @returns the store of a table that exists, or whose existence the caller checks */
export function toExpiringStore<Value>(
  database: Database,
  table: ExpiringTable<Value>,
): ExpiringStore<Value> {
  const { toColumns, fromColumns } = table
  const statements = prepareStatements(database, table)
  const runTimed = createTimedRunner(database)
  const count = (statement: PreparedSql, values: SqlValues): MaybePromise<number> =>
    runTimed(() => statement.run(values, 'count'))
  const change = (statement: PreparedSql, values: SqlValues): MaybePromise<void> =>
    after(count(statement, values), () => undefined)
  const toRow = (key: string, value: Value, expiresAt: number): SqlValues => ({
    ...toColumns(value),
    [table.key]: key,
    [table.expiresAt]: toTimestamp(expiresAt),
  })
  const sweep = createSweep(database, table)
  return {
    get: (key, now) =>
      after(
        runTimed(() => statements.get.run({ key, now }, 'first')),
        (row) => (row === undefined ? undefined : fromColumns(row)),
      ),
    set: (key, value, expiresAt) => change(statements.set, toRow(key, value, expiresAt)),
    replace: (key, value, expiresAt) => change(statements.replace, toRow(key, value, expiresAt)),
    add: (key, value, expiresAt) =>
      after(count(statements.add, toRow(key, value, expiresAt)), (added) => added > 0),
    getOrAdd: (key, value, expiresAt) =>
      after(
        runTimed(() => statements.getOrAdd.run(toRow(key, value, expiresAt), 'rows')),
        ([row]) => (row === undefined ? value : fromColumns(row)),
      ),
    extend: (key, expiresAt) => change(statements.extend, { key, end: toTimestamp(expiresAt) }),
    delete: (key) => change(statements.delete, { key }),
    deleteExpired: (now) =>
      after(
        runTimed(() => sweep(now)),
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
  const { engine } = database.context
  const statement = new PreparedSql(
    database,
    { kind: 'delete', tables: [name] },
    ({ value }) => `delete from ${name} where ${expiresAt} <= ${value('until')}`,
  )
  let nextSweep = -Infinity
  return (now) => {
    if (now < nextSweep || database.openTransaction() !== undefined) return undefined
    nextSweep = now + sweepInterval
    return statement.run({ until: now - graceMs }, 'count', engine)
  }
}

type NamedColumns = Pick<ExpiringTable<unknown>, 'name' | 'key' | 'columns' | 'expiresAt'>
type StatementName = 'get' | 'set' | 'replace' | 'add' | 'getOrAdd' | 'extend' | 'delete'

function prepareStatements(
  database: Database,
  { name, key, columns, expiresAt }: NamedColumns,
): Readonly<Record<StatementName, PreparedSql>> {
  const tables = [name]
  const change = (
    kind: PreparedSqlOptions['kind'],
    write: (value: SqlFragments['value']) => string,
  ): PreparedSql => new PreparedSql(database, { kind, tables }, ({ value }) => write(value))
  const all = [key, ...columns, expiresAt]
  const changed = [...columns, expiresAt]
  const selected = columns.length === 0 ? '1' : columns.join(', ')
  const insert = (value: SqlFragments['value']): string =>
    `insert into ${name} (${all.join(', ')}) values (${all.map((column) => value(column)).join(', ')})`
  return {
    get: new PreparedSql(
      database,
      { kind: 'select', tables, maxRows: 1 },
      ({ value }) =>
        `select ${selected} from ${name} where ${key} = ${value('key')} and ${expiresAt} > ${value('now')}`,
    ),
    set: change(
      'upsert',
      (value) => `${insert(value)}
       on conflict (${key}) do update set ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    ),
    replace: change(
      'update',
      (
        value,
      ) => `update ${name} set ${changed.map((column) => `${column} = ${value(column)}`).join(', ')}
       where ${key} = ${value(key)}`,
    ),
    add: change('insert', (value) => `${insert(value)} on conflict (${key}) do nothing`),
    // The update changes nothing. It makes the statement return the existing row, also to the later of two callers.
    getOrAdd: change(
      'upsert',
      (value) =>
        `${insert(value)} on conflict (${key}) do update set ${key} = excluded.${key} returning ${selected}`,
    ),
    extend: change(
      'update',
      (value) =>
        `update ${name} set ${expiresAt} = ${value('end')} where ${key} = ${value('key')} and ${expiresAt} < ${value('end')}`,
    ),
    delete: change('delete', (value) => `delete from ${name} where ${key} = ${value('key')}`),
  }
}
