/**
 * What differs between databases in SQL and in the values that come and go: the words that `sql/` writes statements with, and
 * how values become those of a driver. Each engine has one beside its `Engine` (engine.ts).
 */
import type { Code } from '../../fields/kinds/kind.js'
import type { Column } from './table.js'
import type { TimeGroup } from './time-group.js'
import type { Total } from './total.js'
import type { JsonSql, RowJson } from './json-sql.js'
import type { ScanSql } from './scan-sql.js'
import type { SearchSql } from './search-sql.js'
import type { Replay, TableChanges } from './table-changes.js'
import type { Around, InsertCopy, InsertLists } from './insert-sql.js'

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
  readonly placeholder: (place: number) => string
  /** A query for the texts of a JSON list, the value at this place. */
  readonly textsOf: (place: number) => string
  /** A query for the entries of a JSON list as JSON, the value at this place; its column is `value`. */
  readonly itemsOf: (place: number) => string
  /** SQL behind a value that stands alone, to give it the column's type. */
  typed(column: Column): string
  /** SQL around the placeholder of a limit, and what stands in its place before an offset. */
  readonly limit: { readonly behind: string; readonly none: string }
  /** How many tables a statement joins to show the rows that others belong to, and by what kind of join. */
  readonly owners: { readonly most: number; readonly join: 'left' | 'lateral' }
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
  answered(column: Column): Around | undefined
  /** SQL around a column of UUIDs that makes them text, which sorts as they do; absent where they are kept as text. */
  readonly uuidText?: Around
  /** SQL around a column that makes the text of its values; absent where they are such text. */
  textOf(column: Column): Around | undefined
  /**
   * SQL of the first local day of a moment's unit as text, `2026-11-16`; for hours the local hour with its offset,
   * `2026-11-16T10:00:00+01:00`.
   */
  timeGroup(group: TimeGroup): string
  /** SQL before and behind the local hour that `timeGroup` writes: the moment at which it begins. */
  readonly momentOfHour: Around
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
  readonly moments: MomentSql
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
export interface MomentSql {
  /** The moment of the statement by the database's clock, as columns of moments keep it. @param ms SQL of milliseconds to add */
  now(ms: string): string
  /** Milliseconds since 1970 of a moment. */
  millis(moment: string): string
}
