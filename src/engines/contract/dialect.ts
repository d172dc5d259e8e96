/**
 * The dialect of a database: the parts of SQL that differ between engines, and the conversion of values for its driver.
 * `sql/` writes statements with it. Each engine has one next to its `Engine` (engine.ts).
 */

import type { EngineError } from './engine-error.js'
import type { PartitionSql } from './partitions.js'
import type { AnnounceSql } from './announce-sql.js'
import type { ActualColumn, ActualTable, TableSchema } from './table-schema.js'
import type { ValueClass } from './conversions.js'
import type { DistributionSql } from './distribution.js'
import type { Row, Runner, TransactionSource } from './runner.js'
import type { Column } from './table.js'
import type { SqlWrapper } from './sql-text.js'
import type { SearchSql } from './search-sql.js'
import type { Code } from '../../fields/kinds/kind.js'
import type { ExchangeSql } from './exchange.js'
import type { JsonSql, RowJson } from './json-sql.js'

/** How an existing table is changed: in place, or by a rebuild with all its rows. */
export type TableChanges = EmptiedTables &
  (
    | {
        readonly kind: 'in place'
        changeType(change: TypeChange): TypeChangeSql
        changeNull(table: string, column: string, nullable: boolean): string
      }
    | {
        readonly kind: 'anew'
        /** Statements that keep every row; columns are copied by name. */
        rebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[]
        /**
         * Statements that rebuild the table in its old form and keep every row. `schema` describes its current form.
         */
        restore(actual: ActualTable, schema: TableSchema, dialect: Dialect): string[]
      }
  )

/** A column whose values are converted to another type. */
export interface TypeChange {
  readonly table: string
  readonly column: string
  /** The current type, as the catalogue writes it. */
  readonly from: string
  /** The new type, as `create table` writes it. */
  readonly to: string
  /** The field for messages: `Product.price`. */
  readonly origin: string
  /** The columns that identify a row in messages. */
  readonly primaryKey: readonly string[]
}

export interface TypeChangeSql {
  /** Statements that fail if a value cannot be converted. */
  readonly checks: readonly string[]
  readonly alter: string
}

interface EmptiedTables {
  /** Deletes all rows of these tables, in spite of references, and restarts generated keys at 1. */
  empty(runner: Runner, tables: readonly string[]): Promise<void>
}

export interface Replay {
  /** The address of an empty database that disappears when it is closed. */
  readonly url: string
  /** SQL that creates the tables that a database has. */
  dump(runner: Runner): Promise<string>
}

/** A sum or average of a column. */
export interface Total {
  /** SQL with the column `{c}`. Its values compare and sort like numbers. */
  readonly sql: string
  /** Whether a statement must return it as text, so that it does not lose digits. */
  readonly isText: boolean
  /** Whether the property's values are text. */
  readonly isExact: boolean
  /** Converts the statement's value, never null, to the value of the storage class. */
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

/** The offset of UTC, as `TimeGroup` has it. */
export const utcOffset = "'+00:00'"

export interface TimeGroup {
  readonly unit: TimeUnit
  /** SQL of the column. */
  readonly column: string
  /** Whether the column contains dates instead of timestamps. */
  readonly isDate: boolean
  /** SQL of the UTC offset at the time of a row, as text: `'+05:45'`, `'-00:30:20'`. */
  readonly offset: string
}

/** Queries for finding statements that read complete tables. */
export interface ScanSql {
  /** The plan of a statement, for unknown values. */
  explain(engine: TransactionSource, sql: string): Promise<readonly Row[]>
  /** The tables, or their aliases, that a plan reads completely to filter or sort them. */
  read(rows: readonly Row[]): readonly string[]
  /** A query for the server's statistics of statements, if it has them. */
  readonly statistics?: string
}

/** SQL for databases that commit on several of their servers together only if they are asked. */
export interface JointCommitSql {
  /** A query that returns whether the table of the request exists: one boolean. */
  readonly isCreated: string
  /** The statements that create the table. */
  readonly create: readonly string[]
  /** Whether a later attempt to create the table may succeed, although the error is of no temporary kind. */
  isTemporary(error: EngineError): boolean
  /** A delete that finds no row. A transaction with it is committed on all servers or on none. */
  readonly request: string
}

/** The SQL of a statement that inserts many rows from one list of values for each column. */
export interface InsertLists {
  /** A query for the names and types of a table's columns; its parameter is the table's quoted name. */
  readonly types: string
  /** SQL around the lists that turns them into rows. */
  readonly rows: SqlWrapper
  /** SQL after a select that locks its rows. Their keys do not change. */
  readonly lockClause: string
  /** SQL around the placeholder of a list. */
  readonly list: (type: string) => SqlWrapper
  /** SQL around one value of such a list; `undefined` if it has the type. */
  readonly item: (type: string) => SqlWrapper | undefined
  /** The list of one column's values in all rows. */
  readonly write: (rows: readonly (readonly unknown[])[], position: number) => unknown
}

/** The database's command for copying many rows, which returns no rows. */
export interface InsertCopy {
  /** A query that returns whether a table accepts it: one boolean. Its parameter is the table's quoted name. */
  readonly isAllowed: string
  /** @param columns quoted, as the table is */
  into(table: string, columns: readonly string[]): string
  /** The rows' values in the order of the columns. */
  write(rows: readonly (readonly unknown[])[]): unknown
}

/** The database for people and other programs. */
export interface DatabaseProduct {
  /** The name for people: `PostgreSQL`. */
  readonly title: string
  /** The name for monitoring. Default `name`. */
  readonly system?: string
  /** Kysely's compiler for this database. */
  readonly kysely: 'Sqlite' | 'Postgres'
  /** The program that makes backups, if the engine does not. */
  readonly backup?: string
}

/** What a database can. Statements and interfaces ask for an ability, never for the name of the database. */
export interface DialectAbilities {
  /** Subqueries of a join may refer to earlier tables. */
  readonly lateral: boolean
  /** A `with` clause may contain a write. */
  readonly writesInWith: boolean
  /** An update may return the values that its rows had before. */
  readonly previousValues: boolean
  /** The engine may run several calls as one statement, so statements must describe how. */
  readonly batchedCalls: boolean
  /** A condition without columns is evaluated once for a statement, instead of once for each row. */
  readonly oneTimeConditions: boolean
  /** Indexes can set the position of nulls. */
  readonly nullOrderInIndexes: boolean
  /** Trigram indexes exist or can be created. */
  readonly trigramIndexes: boolean
  /** Several transactions can write at the same time, so that isolation levels differ. */
  readonly concurrentWrites: boolean
  /** Schema changes can be committed one by one, because some cannot run in a transaction: `create index concurrently`. */
  readonly changePiecemeal: boolean
  /** A transaction can be limited to reads by `set transaction read only`. */
  readonly readOnlyTransactions: boolean
  /** A comment may contain another comment. */
  readonly nestedComments: boolean
  /** It may stop to respond, because it is another process: waits for it need a limit. */
  readonly outages: boolean
  /** A transaction is `serializable` even if it uses several shards. */
  readonly isolatesShards: boolean
  /** A subquery for each row of a table without shards can read tables with shards. */
  readonly subqueriesInShards: boolean
  /** Tables that it distributes may have triggers. */
  readonly triggersOnShards: boolean
}

/** The types of columns. */
export interface TypeSql {
  /** The column's type in `CREATE TABLE`, collation included. */
  columnType(column: Pick<Column, 'storage' | 'isBoolean' | 'isUuid' | 'field' | 'type'>): string
  /** Types that fields name. Undefined if the engine ignores these names. */
  readonly declared?: DeclaredTypes
  /**
   * The definition of a column with generated numbers, which end at the largest safe integer.
   *
   * @param name quoted
   * @param isKey whether the column is the whole primary key
   */
  incrementColumn(name: string, isKey: boolean): string
  /** SQL of the current time as a column's default; `undefined` for columns without times. */
  now(column: Column): string | undefined
  /**
   * @param type as the catalogue writes it
   * @returns the class of the values in such columns; `undefined` for types that records never use
   */
  classOf(type: string): ValueClass | undefined
  /**
   * Whether a column that another program has declared stores the values of a column type of ours, for engines that do
   * not enforce declared types.
   *
   * @param declared as the catalogue writes it: `nvarchar(160)`
   */
  readonly canStore?: (type: string, declared: string) => boolean
  /**
   * A test of the column `{c}` that is true for null and every value in the form of the column, for types that accept
   * other forms too. Tables contain it as a check.
   */
  formTest?(column: Column): string | undefined
}

/** The engine's own types, as far as fields name them. */
export interface DeclaredTypes {
  /** @returns why the type does not fit the field */
  findProblem(column: Column): { readonly message: string; readonly remedy: string } | undefined
  /** @returns the name as the catalogue writes it, without modifiers: `int4[]` → `integer[]` */
  nameOf(type: string): string
  /** @returns the type of a list's items: `order_status[]` → `order_status` */
  itemTypeOf(type: string): string
  /** Whether a column of the database has the type. */
  isSame(type: string, actual: ActualColumn): boolean
  /** Whether it is no enum that a migration makes. */
  isBuiltIn(type: string): boolean
}

/** Values of columns: their conversion for the driver, and SQL that converts or combines them. */
export interface ValueSql {
  /** Converts a checked property value, never null, to a driver value; undefined if they are equal. */
  encoder(column: Column): ((value: unknown) => unknown) | undefined
  /**
   * The code that converts the driver value `v`, never null, to the value of the storage class; undefined if they are
   * equal.
   */
  decoder(column: Column): Code<unknown> | undefined
  /** Converts values of the application's own queries, whose types the driver does not know. */
  readonly toDriver: (value: unknown) => unknown
  /** SQL after a value without context that gives it the column's type. */
  typed(column: Column): string
  /** SQL around a selected column; undefined if the driver returns its values unchanged. */
  returned(column: Column): SqlWrapper | undefined
  /** SQL that converts a column to text; undefined if it is text. */
  textOf(column: Column): SqlWrapper | undefined
  /** SQL that converts a UUID column to text with the same order; undefined if UUIDs are stored as text. */
  readonly uuidText?: SqlWrapper
  /**
   * SQL over the column `{c}` that compares and sorts as its values do, for a column whose values may be stored in several
   * forms. Indexes contain it. Default: the column.
   */
  comparable?(column: Column): string | undefined
  /**
   * A query for the key of a row whose value is not in the form of the column, after such a value has failed;
   * undefined for columns without such values.
   */
  malformedRow(table: string, key: Column, column: Column): string | undefined
  /** Whether patterns must be compared with the text of the column, because its type has no patterns. Default: never. */
  needsTextForPatterns?(column: Column): boolean
  /** SQL around a column of which the minimum or maximum is taken. Default: none. */
  extremes?(column: Column): SqlWrapper | undefined
  /** SQL over the column `{c}` that counts its characters (code points), or its bytes. */
  lengthOf(column: Pick<Column, 'storage' | 'isUuid' | 'type' | 'isArray' | 'field'>): string
  /** Whether SQL can add a number to the stored value. Default: true for all numeric columns. */
  canAdd?(column: Column): boolean
  /**
   * The sum or average of a numeric column, exact for exact numbers. `isLarge` is true after a sum has failed with
   * `overflow`.
   */
  total(called: 'sum' | 'avg', column: Pick<Column, 'storage' | 'field'>, isLarge?: boolean): Total
}

/** Comparisons and search of texts. */
export interface TextSql {
  /** SQL around a text for comparisons that ignore case. */
  readonly fold: readonly [before: string, after: string]
  /** Converts a value for comparisons that ignore case. */
  foldValue(text: string): string
  /**
   * Tests of a column `{c}` for a literal text `{v}`, for engines whose pattern matching is slow for long patterns.
   * Undefined for other engines.
   */
  readonly has?: { readonly contains: string; readonly endsWith: string }
  /** Full-text search. */
  readonly search: SearchSql
}

/** Lists of values: as one value of a statement, and in columns. */
export interface ListSql {
  /** A query for the texts of a JSON list, which is the value at this position. */
  readonly texts: (position: number) => string
  /** A query for the entries of a JSON list, which is the value at this position, as JSON in the column `value`. */
  readonly items: (position: number) => string
  /** Encodes a list as one value for `test`; `undefined` if the column's values cannot be encoded. */
  encode(column: Column, values: readonly unknown[]): unknown
  /** SQL around the placeholder of an encoded list, after the column's name. */
  readonly test: readonly [before: string, after: string]
  /** A test of a list column `{c}` for an item `{v}`. */
  has(isArray: boolean): string
  /** The item for the test, from its JSON text. */
  itemOf(json: string, isArray: boolean): unknown
}

/** Keys of several columns. As a value of a statement, a key is the JSON list of its parts. */
export interface KeyJson {
  /** SQL around the placeholder of a key that makes it JSON, before `->> 0`. */
  readonly json: SqlWrapper
  /** SQL around the placeholder of a JSON list of keys, for `from`. Each key is the JSON in the column `value`. */
  readonly entries: SqlWrapper
}

/** @param keys of several columns, each as JSON text */
export function toKeyList(keys: readonly unknown[]): string {
  return `[${keys.join(',')}]`
}

/** JSON: the JSON of rows, and values within JSON columns. */
export interface JsonDialect {
  /** Creates the writer of JSON SQL. */
  createWriter(dialect: Dialect): JsonSql
  readonly row: RowJson
  readonly keys: KeyJson
  /** SQL around a subquery that returns JSON, so that the outer expression treats it as JSON. */
  readonly ofSubquery: readonly [before: string, after: string]
  /** SQL around a double in JSON, if the engine would not write all its digits. */
  readonly ofDouble?: readonly [before: string, after: string]
  /** The text of an infinite number in JSON; `undefined` if such a statement fails. */
  readonly infinity: string | undefined
  /** The JSON text of a decimal that is not a number; undefined if no column of decimals can hold one. */
  readonly notANumber: string | undefined
  /** The path within JSON in the form of the engine. Several paths if a name may be a key or an index of a list. */
  paths(names: readonly string[]): readonly unknown[]
  /** SQL of the value at a path `{p}` within the column `{c}`; null if it has another type. */
  readonly at: Readonly<Record<'number' | 'exact' | 'text' | 'boolean' | 'list' | 'any', string>>
  /** Converts the operand of a comparison with a value within JSON. `isExact`: a decimal number as text. */
  operand(value: unknown, isExact?: boolean): unknown
}

/** Time: timestamps of hand-written statements, and the groups of aggregates. */
export interface TimeSql {
  /** SQL of the current time of the database's machine in milliseconds since 1970, also within a transaction. */
  readonly clock: string
  /**
   * The database's time when the statement runs, in the stored form of timestamps.
   *
   * @param ms SQL of milliseconds to add
   */
  now(ms: string): string
  /** Converts a timestamp to milliseconds since 1970. */
  millis(timestamp: string): string
  /** SQL of a timestamp column as indexes contain it, for conditions and orders. */
  indexed(column: string): string
  /**
   * SQL of the first local day of a timestamp's unit, which is returned as `2026-11-16`. For hours, the local hour with its
   * offset as text, `2026-11-16T10:00:00+01:00`.
   */
  group(group: TimeGroup): string
  /** SQL over the column `{c}` of the moment that it means; `undefined` if the column contains moments. */
  instant?(column: Column): string | undefined
  /** SQL around the local hour of `group` that returns the timestamp of its beginning. */
  readonly timestampOfHour: SqlWrapper
}

/** Inserts of many rows. */
export interface BulkSql {
  /** Undefined if many rows are inserted with one list of all values. */
  readonly lists?: InsertLists
  /** Undefined if the database has no such command. */
  readonly copy?: InsertCopy | undefined
  /** For statements with a placeholder for each value of several rows. */
  readonly rows: BulkRows
  /**
   * A query that advances the generated keys beyond the explicit keys in `stored`. Names are quoted. Undefined if the
   * database does so itself.
   */
  readonly passKeys?: (table: string, key: string) => string
  /** For copies between engines. */
  readonly exchange: ExchangeSql
}

/** How many rows a statement inserts that has a placeholder for each value. */
export interface BulkRows {
  /** The maximum number of rows. */
  readonly maxRows: number
  /** The maximum number of placeholders, unless one row has more. */
  readonly maxValues: number
  /** Whether rows that do not fill a statement are inserted one by one, because each number of rows is another statement. */
  readonly writesRestSingly: boolean
  /** The maximum number of rows that are checked before the database gets them. */
  readonly chunkSize: number
}

/** Tables: their changes, their catalogue, and queries about them. */
export interface TableSql {
  /**
   * The table's name in the database. An engine without schemas puts the schema before the name: `billing.orders` →
   * `billing_orders`.
   */
  readonly nameOf: (table: string) => string
  readonly changes: TableChanges
  /** Undefined if no server of the engine distributes tables. */
  readonly distribution?: DistributionSql
  /** Announces the writes of other programs. Undefined if the database has no messages. */
  readonly announce: AnnounceSql | undefined
  /**
   * Runs migrations to determine the schema after them; `undefined` if a file next to the migrations stores that
   * schema.
   */
  readonly replay: Replay | undefined
  /** A query for a table by its name, the first value. It waits for no lock. */
  readonly named: string
  /**
   * A query for the unique indexes of a table, as rows of name and columns (`a,b`). Undefined if errors contain the
   * name of the index.
   */
  readonly uniqueIndexes?: (table: string) => string
  /**
   * A query for the indexes on the partitions of a table, as rows of their name and the name of the table's index.
   * Undefined if there are no partitions.
   */
  readonly partitionIndexes?: (table: string) => string
  /**
   * How many rows can depend on each other when the database deletes them by `on delete cascade`. Undefined if there is
   * no limit.
   */
  readonly maxCascadeDepth?: number
  readonly scans: ScanSql
  /** Undefined if the database has no partitions, so that such a table is an ordinary one. */
  readonly partitions?: PartitionSql
  /** Undefined: every transaction is committed completely or not at all. */
  readonly jointCommit?: JointCommitSql | undefined
}

/** The form of statements. */
export interface StatementSql {
  /** The placeholder of the value at this position, from 1, in hand-written SQL. */
  readonly placeholder: (position: number) => string
  /**
   * `suffix` follows the placeholder of a limit. `none` replaces the limit before an offset. `sum` is around the
   * placeholder of a limit that is added to another number.
   */
  readonly limit: { readonly suffix: string; readonly none: string; readonly sum: SqlWrapper }
  /**
   * SQL after a select that locks its rows until the transaction ends. Empty if a transaction locks the complete
   * database.
   */
  readonly lock: string
  /** As `lock`, but skips rows that other transactions have locked. */
  readonly lockFree: string
  /** The maximum number of tables that a statement joins to read the rows that rows belong to, and the kind of join. */
  readonly belongsTo: { readonly maxTables: number; readonly join: 'left' | 'lateral' }
  /**
   * Whether related rows are found faster by a list of keys than by a lookup for each row, if a statement reads all
   * rows.
   */
  readonly listsKeys: boolean
  /** Whether a single related key is found faster by `=` than by a list. */
  readonly prefersSingleKeys: boolean
  /** How lists of large tables are read by the number of their matches (`sql/few-matches.ts`). */
  readonly countsMatches: 'first' | 'after a scan'
}

export interface Dialect {
  /** The name in the file names of migrations: `add-price.postgres.sql`. Engines with the same SQL share it. */
  readonly name: string
  readonly product: DatabaseProduct
  readonly can: DialectAbilities
  readonly types: TypeSql
  readonly values: ValueSql
  readonly text: TextSql
  readonly lists: ListSql
  readonly json: JsonDialect
  readonly time: TimeSql
  readonly bulk: BulkSql
  readonly tables: TableSql
  readonly statements: StatementSql
}
