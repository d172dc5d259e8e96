/**
 * Statements with their properties, which decide how engines queue, batch, share and route them. No engine parses SQL
 * text (test/repository/sql-text.test.ts). Custom SQL of applications has the kind `unknown`.
 */

/** Returns the SQL to print in place of the placeholder of a value, from 1. */
export type ValueSqlAt = (position: number) => string

/** Returns a test that a column, quoted, has the value of a placeholder, from 1, of any of several calls. */
export type AnyOfSql = (column: string, position: number) => string

/** The SQL of an insert of one row, from which an engine can make a statement for several calls. */
export interface OneNewRow {
  /** The SQL before ` values (`, in which the placeholders are in order. */
  readonly head: string
  /** The SQL from ` returning ` to the end. */
  readonly returning: string
}

/** A column of a key, and the number of the placeholder of its value, from 1. */
export interface KeyPlaceholder {
  /** Quoted. */
  readonly column: string
  readonly position: number
}

/** The SQL of an update of one row by its key, from which an engine can make a statement for several calls. */
export interface OneRowChange {
  /** The table's name with its schema, quoted. */
  readonly table: string
  /** The table's name before its columns, quoted. */
  readonly own: string
  /** The columns of its key. */
  readonly key: readonly KeyPlaceholder[]
  /** Prints the SQL before ` where `, and the condition. */
  readonly print: (
    valueAt: ValueSqlAt,
    isAnyOf?: AnyOfSql,
  ) => { readonly head: string; readonly condition: string }
  /** The part of the key, from 0, of which partitions have ranges (0 for a key of one column). Undefined: no partitions. */
  readonly partitions?: { readonly part: number; readonly areFew: boolean } | undefined
  /** The SQL from ` returning ` to the end. */
  readonly returning: string
}

/**
 * The form of an update of several rows by lists of keys and values, from which an engine can make a statement for
 * several calls.
 */
export interface RowsChange {
  /**
   * The SQL for several calls. The rows of a call are updated if all of them exist and none is locked, otherwise none.
   * Each returned row ends with the number of its call. Values: the lists of all calls, and lists of the call and of its
   * number of rows for each row.
   */
  readonly together: string
  /** The index of the list of each placeholder. */
  readonly order: readonly number[]
  /** The number of lists of keys and values at the beginning. */
  readonly lists: number
  /** The indexes of the lists of keys, one for each column of the key. */
  readonly keys: readonly number[]
  /** The number of rows in the values of one call. */
  readonly sizeOf: (values: readonly unknown[]) => number
}

/**
 * `script`: schema changes, and several statements in one text. `savepoint`: begins or ends a part of a transaction.
 * `unknown`: custom SQL of an application.
 */
export type StatementKind =
  'select' | 'insert' | 'update' | 'delete' | 'upsert' | 'script' | 'savepoint' | 'unknown'

/** A statement. Reuse the object, because engines cache prepared statements by it. */
export interface Statement {
  readonly sql: string
  /** The command. All kinds except `select` are queued in a database with one writer, and never run twice. */
  readonly kind: StatementKind
  /**
   * The names of the tables that it reads or writes, starting with the table of the requested record; `anyTable` if
   * unknown.
   */
  readonly tables: readonly string[]
  /** Whether it may wait for a lock on a row or table, so that no other statement should be queued after it. */
  readonly mayWait: boolean
  /** The maximum number of rows that it reads; `undefined` if unknown. Read by `boundOf`. */
  readonly bound?: Bound | undefined
  /** The names of the indexes, in addition to keys, that guarantee the bound. The planner must use one of them. */
  readonly by?: readonly string[] | undefined
  /**
   * Who sends it: `client` for statements of records, which clients may cause; `program` for custom SQL; `ourselves`
   * for the framework.
   */
  readonly for: 'client' | 'program' | 'ourselves'
  /**
   * It waits for locks without a limit, because it blocks no other statement in the meantime: `create index
   * concurrently`.
   */
  readonly ignoresLockTimeout?: boolean
  /** It must read the latest data, never from a replica. Default false. */
  readonly isFresh?: boolean
  /** With which calls it may be batched. Default: none. */
  readonly together?: Together | undefined
  /**
   * Prints the SQL of a read for a statement that combines calls with different values. Undefined: they are not combined.
   */
  readonly print?: ((valueAt: ValueSqlAt, isAnyOf?: AnyOfSql) => string) | undefined
  /**
   * The partitions of the table from which it reads one row by the key. If they are few, a combined statement leaves the others
   * out when it starts, so that it need not be planned for its keys each time.
   */
  readonly partitions?: { readonly areFew: boolean } | undefined
  /** Its only value is rows in the form of `copy.write`. */
  readonly takesRows?: boolean
  /** The columns that its values are compared with or written to, by the position of the value. */
  readonly valueColumns?: readonly (string | undefined)[] | undefined
  /** Its result depends only on rows of the table with these values. */
  readonly only?: RowTest | undefined
  /** Set if it updates one row by its key. */
  readonly oneRow?: OneRowChange | undefined
  /** Set if it updates several rows by their keys, all or none. */
  readonly rows?: RowsChange | undefined
  /** Set if it inserts one row and returns it. */
  readonly newRow?: OneNewRow | undefined
}

/** A number, or a function of the values and the sizes of tables. */
export type Bound = number | ((values: readonly unknown[], rowsOf: RowsOf) => number)

/** Columns of a table, and the positions of the values that they must equal. */
export interface RowTest {
  readonly table: string
  readonly columns: readonly { readonly name: string; readonly position: number }[]
}

/** The maximum number of rows of a table; `Infinity` if unknown. */
export type RowsOf = (table: string) => number

/**
 * `calls`: calls with different values can be combined to one statement, because an index surely finds the few rows of
 * each. `same`: concurrent calls with equal values can share a result, whose rows are frozen. `page`: both.
 */
export type Together = 'calls' | 'same' | 'page'

/** Whether it writes. True for unknown statements. */
export function isWrite({ kind }: Pick<Statement, 'kind'>): boolean {
  return kind !== 'select' && kind !== 'savepoint'
}

/** Whether it surely finds few rows by an index, so that it does not delay other statements. */
export function isBrief({ together }: Pick<Statement, 'together'>): boolean {
  return together === 'calls' || together === 'page'
}

/** Whether concurrent calls with equal values may share a result. */
export function mayShare({ together }: Pick<Statement, 'together'>): boolean {
  return together === 'same' || together === 'page'
}

/** The maximum number of rows that it reads with these values; `Infinity` if unknown. */
export function boundOf(
  { bound }: Statement,
  values: readonly unknown[],
  rowsOf: RowsOf = unknownSize,
): number {
  if (bound === undefined) return Infinity
  return typeof bound === 'number' ? bound : bound(values, rowsOf)
}

function unknownSize(): number {
  return Infinity
}

/** Stands for unknown tables. */
export const anyTable = '*'

/** A query of the framework, which waits for no lock. */
export function frameworkQuery(sql: string, properties: Partial<Statement> = {}): Statement {
  return Object.freeze({
    sql,
    kind: 'select',
    tables: [],
    mayWait: false,
    for: 'ourselves',
    ...properties,
  })
}

/** A write of the framework. */
export function frameworkChange(
  kind: 'insert' | 'update' | 'delete' | 'upsert' | 'unknown',
  sql: string,
  properties: Partial<Statement> = {},
): Statement {
  return Object.freeze({ sql, kind, tables: [], mayWait: true, for: 'ourselves', ...properties })
}

/** A script of the framework: statements without values and results. */
export function frameworkScript(sql: string, properties: Partial<Statement> = {}): Statement {
  return frameworkChange('unknown', sql, { kind: 'script', tables: [anyTable], ...properties })
}

/** The prefix of the framework's tables. Tables of records cannot have it. */
const frameworkTablePrefix = 'filigree_'

/** Whether it uses a table of the framework, such as sessions or revocations. */
export function usesFrameworkTable({ tables }: Pick<Statement, 'tables'>): boolean {
  return tables[0]?.startsWith(frameworkTablePrefix) === true
}
