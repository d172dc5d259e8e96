/**
 * What a statement is: said by what writes it, and read by all who run, spread, count and bound statements. Nobody reads
 * its text (test/repository/sql-text.test.ts). SQL of applications is `unknown`: it may wait, and has no bound.
 */

/** One new row, of which an engine may make a statement that writes a row for each of several calls. */
export interface OneNewRow {
  /** So long is the text before ` values (`, in which the placeholders stand in their order. */
  readonly head: number
  /** So long is the text from ` returning ` to the end. */
  readonly tail: number
}

/** A change of one row by its key, of which an engine may make one that changes a row for each of several calls. */
export interface OneRowChange {
  /** The table's name, quoted. */
  readonly table: string
  /** The name of its key, quoted. */
  readonly key: string
  /** Which placeholder is the key, from 1. */
  readonly keyPosition: number
  /** So long is the text before its ` where `. Behind that stands ` returning `, and nothing behind its columns. */
  readonly head: number
  /** So long is the text from ` returning ` to the end. */
  readonly tail: number
}

/** A change of several rows by lists of their keys and values, of which an engine may make one for several calls. */
export interface RowsChange {
  /**
   * What does so. A call's rows are changed if all of them are there and nobody holds one, and none of them else; each row
   * is answered with its call's number behind it. Values: the lists of all calls, lists of each row's call and of how many
   * rows that has, and the keys again.
   */
  readonly together: string
  /** So many lists of keys and of other values come first. */
  readonly lists: number
  /** Which of them, from 0, is that of the keys. */
  readonly keys: number
  /** How many rows the values of one call are for. */
  readonly sizeOf: (values: readonly unknown[]) => number
}

/**
 * `script`: changes of the schema, and several statements at once; `savepoint`: begins or ends a part of a transaction;
 * `unknown`: SQL that an application wrote.
 */
export type StatementKind =
  'select' | 'insert' | 'update' | 'delete' | 'upsert' | 'script' | 'savepoint' | 'unknown'

/** SQL with placeholders. Keep the object: engines remember by it what they have prepared. */
export interface Statement {
  readonly sql: string
  /** What it does. All but `select` wait for their turn where a database has one writer, and are never run twice. */
  readonly kind: StatementKind
  /** The tables that it reads or writes by their names, that of the record asked for first; `anyTable` where others may be. */
  readonly tables: readonly string[]
  /** It may wait for a lock that somebody holds, on a row or a table: nothing should wait behind it. */
  readonly mayWait: boolean
  /** How many rows it looks at at most; `undefined`: nobody knows. `boundOf` reads it. */
  readonly bound?: Bound | undefined
  /** The names of the indexes, besides keys, by which that is so: a planner that knows better must go by one of them. */
  readonly by?: readonly string[] | undefined
  /** A record's, which clients ask for (whether one does is said by the runner); an application's own; the framework's. */
  readonly for: 'client' | 'program' | 'ourselves'
  /** It waits for others as long as it takes, because it holds nobody meanwhile: `create index concurrently`. */
  readonly ignoresLockTimeout?: boolean
  /** What it reads must be as it is now: no copy that may be behind is asked. Default false. */
  readonly isFresh?: boolean
  /** With whom it may go as one. Default: it goes alone. */
  readonly together?: Together | undefined
  /** Its one value is rows, as `copy.write` makes them. */
  readonly takesRows?: boolean
  /** Rows of its table matter to its answer only if they hold these values. */
  readonly only?: RowTest | undefined
  /** It changes one row by its key. */
  readonly oneRow?: OneRowChange | undefined
  /** It changes several rows by their keys, all of them or none. */
  readonly rows?: RowsChange | undefined
  /** It writes one new row and answers it. */
  readonly newRow?: OneNewRow | undefined
}

/** A number, or what tells it from the values of a run and the sizes of tables. */
export type Bound = number | ((values: readonly unknown[], rowsOf: RowsOf) => number)

/** Columns of a table by their names, and where the values stand that they must equal, among those of a run. */
export interface RowTest {
  readonly table: string
  readonly columns: readonly { readonly name: string; readonly position: number }[]
}

/** How many rows a table has at most, by its name; `Infinity` where that is not known. */
export type RowsOf = (table: string) => number

/**
 * `calls`: of calls with other values one statement may be made, because an index that is surely there finds each one's few
 * rows. `same`: those who ask it with the same values meanwhile may have the same answer; rows that several have are
 * frozen. `page`: both.
 */
export type Together = 'calls' | 'same' | 'page'

/** Whether it changes something; where nobody knows, it does. */
export function isWrite({ kind }: Pick<Statement, 'kind'>): boolean {
  return kind !== 'select' && kind !== 'savepoint'
}

/** It finds few rows by an index that is surely there: others need not fear to go beside it. */
export function isBrief({ together }: Pick<Statement, 'together'>): boolean {
  return together === 'calls' || together === 'page'
}

/** Whoever asks the same meanwhile may have the same answer. */
export function mayShare({ together }: Pick<Statement, 'together'>): boolean {
  return together === 'same' || together === 'page'
}

/** The rows that it looks at at most with these values; `Infinity` where nobody knows. */
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

/** Stands for tables that nobody knows. */
export const anyTable = '*'

/** A question of the framework's own, which waits for nobody. */
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

/** A change of the framework's own. */
export function frameworkChange(
  kind: 'insert' | 'update' | 'delete' | 'upsert' | 'unknown',
  sql: string,
  properties: Partial<Statement> = {},
): Statement {
  return Object.freeze({ sql, kind, tables: [], mayWait: true, for: 'ourselves', ...properties })
}

/** Statements without values, of whose answer nothing is wanted. */
export function frameworkScript(sql: string, properties: Partial<Statement> = {}): Statement {
  return frameworkChange('unknown', sql, { kind: 'script', tables: [anyTable], ...properties })
}

/** The names of the framework's own tables begin so; no record's does. */
const frameworkTablePrefix = 'filigree_'

/** It concerns a table of the framework's own: sessions, revocations, counts. */
export function usesFrameworkTable({ tables }: Pick<Statement, 'tables'>): boolean {
  return tables[0]?.startsWith(frameworkTablePrefix) === true
}
