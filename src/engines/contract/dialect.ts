/**
 * What differs between databases in SQL and in the values that come and go: the words that `sql/` writes statements with, and
 * how values become those of a driver. Each engine has one beside its `Engine` (engine.ts).
 */

import type { ActualTable, TableSchema, IndexSchema } from './table-schema.js'
import type { Runner, Engine, Row } from './engine.js'
import type { KeyedTable, TableSearch, Column } from './table.js'
import type { Sql } from './sql-text.js'
import type { Code } from '../../fields/kinds/kind.js'
import type { JsonSql, RowJson } from './json-sql.js'

/** How an engine changes tables, and how the schema after its migrations is found. */

/** How an existing table is changed: in place, or by a rebuild with all its rows. */
export type TableChanges = EmptiedTables &
  (
    | {
        readonly kind: 'in place'
        changeType(table: string, column: string, type: string, bareType: string): string
        changeNull(table: string, column: string, nullable: boolean): string
      }
    | {
        readonly kind: 'anew'
        /** Statements that keep every row; columns are copied by name. */
        rebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[]
        /** Statements that make the table again as it was, from the one that `schema` describes, and keep every row. */
        restore(actual: ActualTable, schema: TableSchema, dialect: Dialect): string[]
      }
  )

interface EmptiedTables {
  /** Deletes every row of these tables, whatever refers to what; keys count from 1 again. */
  empty(runner: Runner, tables: readonly string[]): Promise<void>
}

export interface Replay {
  /** The address of an empty database that disappears when it is closed. */
  readonly url: string
  /** SQL that creates the tables that a database has. */
  dump(runner: Runner): Promise<string>
}

/** Sums and averages, in each engine's form. */

/** How a database computes one number from a column's numbers. */
export interface Total {
  /** SQL with the column `{c}`. It compares and sorts as the numbers do. */
  readonly sql: string
  /** A statement must return it as text, otherwise it loses digits. */
  readonly isText: boolean
  /** The property's values are text. */
  readonly isExact: boolean
  /** Converts the statement's value, which is never null, to that of the storage class. */
  decode(value: unknown): unknown
  /** Converts a number to the operand of a comparison; exact numbers are text with the column's scale. */
  encode(operand: unknown): unknown
}

/** An integer; as text if a number would lose digits. */
export function toIntegerValue(value: unknown): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** The units of local time by which aggregates group timestamps. */
export type TimeUnit = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'

export const timeUnits: readonly TimeUnit[] = ['hour', 'day', 'week', 'month', 'quarter', 'year']

export interface TimeGroup {
  readonly unit: TimeUnit
  /** SQL of the column. */
  readonly column: string
  /** The column holds days, not moments. */
  readonly isDate: boolean
  /** SQL of the distance of local time from UTC at the moment of a row, as text: `'+05:45'`, `'-00:30:20'`. */
  readonly offset: string
}

/** How a database searches texts by words and ranks the rows. */
export interface SearchSql {
  /** The index or tables that it needs, in the form of a table's index. */
  schema(table: KeyedTable, search: TableSearch): IndexSchema
  /** Statements that drop a search index with this name. */
  drop(name: string): string[]
  /** The value of the placeholder. There is at least one word; words contain only letters, digits and marks. */
  operand(words: readonly string[]): unknown
  /** The condition that a row contains all words. */
  test(parts: SearchParts): Sql
  /** How rows are ordered by rank. */
  rank(parts: SearchParts): Ranking
  /** How some of the rows that are found are ranked, the best with the lowest number. */
  some(parts: SearchParts): RankedRows
}

/** Rows that contain the words, and their ranks, to be limited before anything is sorted. */
export interface RankedRows {
  /** SQL before the table in `from`. */
  readonly from?: Sql
  /** The SQL that replaces the condition. */
  readonly test: Sql
  readonly rank: Sql
}

export interface SearchParts {
  readonly table: KeyedTable
  readonly search: TableSearch
  /** The table's alias in the statement. */
  readonly alias: string
  /** The placeholder of the words. */
  readonly value: Sql
}

export interface Ranking {
  /** SQL before the table in `from`, or after the last table if only few rows are left. */
  readonly from?: Sql
  readonly behind?: Sql
  /** The SQL that replaces the condition. */
  readonly test: Sql
  /** The first expression of `order by`. */
  readonly by: Sql
}

/** How an engine tells which tables a statement would read as a whole. */
export interface ScanSql {
  /** The plan of a statement, for unknown values. */
  explain(engine: Engine, sql: string): Promise<readonly Row[]>
  /** The tables, or their aliases, that a plan reads as a whole to filter or sort them. */
  read(rows: readonly Row[]): readonly string[]
  /** A query for the statements that the server knows, if it keeps them. */
  readonly statistics?: string
}

/** How an engine writes many rows at once. */

/** SQL before and after a column. */
export type SqlWrapper = readonly [before: string, behind: string]

/** How one statement inserts many rows: a list of values for each column. */
export interface InsertLists {
  /** A query for the names and types of a table's columns; its parameter is the table's quoted name. */
  readonly types: string
  /** SQL around the lists that turns them into rows. */
  readonly rows: SqlWrapper
  /** SQL behind a select whose rows are changed, their keys not: it holds them. */
  readonly lockClause: string
  /** SQL around the placeholder of a list. */
  list(type: string): SqlWrapper
  /** The list of the values at one place of all rows. */
  write(rows: readonly (readonly unknown[])[], position: number): unknown
}

/** The database's own command for many rows, which returns none of them. */
export interface InsertCopy {
  /** A query that returns whether a table accepts it: one boolean. Its parameter is the table's quoted name. */
  readonly isAllowed: string
  /** @param columns quoted, as the table is */
  into(table: string, columns: readonly string[]): string
  /** The rows' values in the order of the columns. */
  write(rows: readonly (readonly unknown[])[]): unknown
}

export interface Dialect {
  /** What its migrations are named by: `add-price.postgres.sql`. Engines of the same SQL share it. */
  readonly name: string
  /** What monitoring calls it. Default `name`. */
  readonly system?: string
  /** For people: `PostgreSQL`. */
  readonly title: string
  /** The command that makes its backups, where the engine does not. */
  readonly backup?: string
  /** The family of Kysely's compiler, for what repositories do not do. */
  readonly kysely: 'Sqlite' | 'Postgres'
  /** A statement costs no journey: rows are inserted one by one. */
  readonly isLocal: boolean
  /** Absent where they are inserted by one list of all values. */
  readonly lists?: InsertLists
  /** Absent where rows do not come so. */
  readonly copy?: InsertCopy | undefined
  /** What a value of the application's own queries becomes, where the driver does not know its type. */
  readonly toDriver: (value: unknown) => unknown
  /** The placeholder of the value at this place, from 1, in SQL that is written by hand. */
  readonly placeholder: (position: number) => string
  /** A query for the texts of a JSON list, the value at this place. */
  readonly textsOf: (position: number) => string
  /** A query for the entries of a JSON list as JSON, the value at this place; its column is `value`. */
  readonly itemsOf: (position: number) => string
  /** SQL behind a value that stands alone, to give it the column's type. */
  typed(column: Column): string
  /** SQL around the placeholder of a limit, and what stands in its place before an offset. */
  readonly limit: { readonly behind: string; readonly none: string }
  /** How many tables a statement joins to show the rows that others belong to, and by what kind of join. */
  readonly owners: { readonly maxTables: number; readonly join: 'left' | 'lateral' }
  /** Subqueries of a join may name the tables before them. */
  readonly hasLateral: boolean
  /** Where a statement looks at every row, a list of keys made once finds the related rows faster than a look for each row. */
  readonly listsKeys: boolean
  /** What writes JSON. */
  json(): JsonSql
  /** A number can be added to the stored value in SQL; absent for every column of numbers. */
  canAdd?(column: Column): boolean
  /** What an answer has in it where a number was infinite; `undefined` where the statement fails then. */
  readonly infinity: string | undefined
  readonly changes: TableChanges
  /** SQL of this moment as a column's default, by storage class. */
  readonly now: Readonly<Partial<Record<Column['storage'], string>>>
  /** SQL of the milliseconds since 1970 by the clock of its machine, at this very moment. */
  readonly clock: string
  /** SQL over the column `{c}` that counts its characters (code points), or its bytes. */
  lengthOf(column: Pick<Column, 'storage' | 'isUuid'>): string
  /** Where its migrations lead is found out by running them; `undefined`: it is kept in a file beside them. */
  readonly replay: Replay | undefined
  /** The column's type in `CREATE TABLE`, collation included. */
  columnType(column: Pick<Column, 'storage' | 'isBoolean' | 'isUuid' | 'field'>): string
  /** The type of a key that the database counts up. */
  readonly incrementType: string
  /** From a checked property value (never null) to what the driver takes; absent where they are the same. */
  encoder(column: Column): ((value: unknown) => unknown) | undefined
  /** What makes the storage class's value of the driver's `v` (never null); absent where they are the same. */
  decoder(column: Column): Code<unknown> | undefined
  /** SQL around a column that a statement answers; absent where the driver hands its values on as they are. */
  answered(column: Column): SqlWrapper | undefined
  /** SQL around a column of UUIDs that makes them text, which sorts as they do; absent where they are kept as text. */
  readonly uuidText?: SqlWrapper
  /** SQL around a column that makes the text of its values; absent where they are such text. */
  textOf(column: Column): SqlWrapper | undefined
  /**
   * SQL of the first local day of a moment's unit as text, `2026-11-16`; for hours the local hour with its offset,
   * `2026-11-16T10:00:00+01:00`.
   */
  timeGroup(group: TimeGroup): string
  /** SQL before and behind the local hour that `timeGroup` writes: the moment at which it begins. */
  readonly timestampOfHour: SqlWrapper
  /** The sum or mean of a column of numbers, exact where they are; `isLarge` once a sum failed as an `overflow`. */
  total(called: 'sum' | 'avg', column: Pick<Column, 'storage' | 'field'>, isLarge?: boolean): Total
  /** SQL around a text that makes it lower case, for comparing without regard to case. */
  readonly fold: readonly [before: string, after: string]
  /** The same of a value. */
  foldValue(text: string): string
  /**
   * Tests of a column `{c}` for a text `{v}` that stands for itself, where a pattern may take as long as the product of
   * both lengths; absent where patterns do as well.
   */
  readonly textHas?: { readonly contains: string; readonly endsWith: string }
  /** Rows by words in their texts. */
  readonly search: SearchSql
  /** Indexes may say where nulls stand; there are indexes of trigrams, or can be. */
  readonly indexes: { readonly nulls: boolean; readonly trigrams: boolean }
  /** One value that stands for a list in `listTest`; `undefined` where the column's values cannot travel so. */
  encodeList(column: Column, values: readonly unknown[]): unknown
  /** SQL of one row that counts on behind the given keys in `stored`, names quoted; absent where that happens by itself. */
  readonly passKeys?: (table: string, key: string) => string
  /** SQL behind a select that holds its rows until the transaction ends; empty where a transaction holds all of them. */
  readonly lock: string
  /** The same without the rows that others hold. */
  readonly lockFree: string
  /** SQL of moments. */
  readonly timestamps: TimestampSql
  /** SQL of the unique indexes of a table as rows of name and columns (`a,b`); absent where a fault has the name. */
  readonly uniqueIndexes?: (table: string) => string
  /** One transaction at a time, so that every isolation is as good as the highest. */
  readonly hasOneWriter: boolean
  /** A test of a column `{c}` of a list for an item, whose JSON text is `{v}`. */
  readonly listHas: string
  /** A path within JSON as the engine takes it; more than one where a name could be a key or a place in a list. */
  jsonPaths(names: readonly string[]): readonly unknown[]
  /** SQL of the value at a path `{p}` within the column `{c}`, null where it is of another type. */
  readonly jsonAt: Readonly<Record<'number' | 'text' | 'boolean' | 'any', string>>
  /** What a value within JSON is held against. */
  jsonOperand(value: unknown): unknown
  /** SQL around the placeholder of such a list: what stands behind the column's name. */
  readonly listTest: readonly [before: string, after: string]
  readonly rowJson: RowJson
  /** A query for the table of a name, the first value. It waits for no lock. */
  readonly tableNamed: string
  readonly scans: ScanSql
  /** SQL around a subquery of one JSON value that keeps it JSON for what stands around. */
  readonly jsonOfSubquery: readonly [before: string, after: string]
  /** SQL around a double in JSON, if the engine would not write all its digits. */
  readonly jsonOfDouble?: readonly [before: string, after: string]
}

/** SQL of moments, for statements that are written by hand. */
export interface TimestampSql {
  /** The moment of the statement by the database's clock, as columns of moments keep it. @param ms SQL of milliseconds to add */
  now(ms: string): string
  /** Milliseconds since 1970 of a moment. */
  millis(moment: string): string
}
