/**
 * What SQL needs to know of a table: its columns, indexes and search. Frozen data that `records/model` makes of a record
 * class; engines know no more of a record.
 */

import type { Comparison, StorageClass } from '../../fields/kinds/kind.js'
import type { ShapeField } from '../../fields/shape.js'

/** How the indexes of searches are named in a database. */

/** Their prefix; tables of the application must not begin with it. */
export const searchIndexPrefix = 'filigree_search_'

export function isSearchIndexName(name: string): boolean {
  return name.startsWith(searchIndexPrefix)
}

/** What the names of tables and columns begin with that belong to databases, or to the framework. */
export const reservedPrefixes = ['sqlite_', 'pg_', 'filigree_'] as const

/** Columns that every table of an engine has, by the engine's title. Sources: PostgreSQL, System Columns; SQLite, ROWIDs. */
export const reservedColumns: ReadonlyMap<string, string> = new Map([
  ['ctid', 'PostgreSQL'],
  ['xmin', 'PostgreSQL'],
  ['xmax', 'PostgreSQL'],
  ['cmin', 'PostgreSQL'],
  ['cmax', 'PostgreSQL'],
  ['tableoid', 'PostgreSQL'],
  ['rowid', 'SQLite'],
])

/** One column, made from one field. */
export interface Column {
  /** The property's name, `categoryId`. */
  readonly property: string
  /** The column's name, `category_id`. */
  readonly name: string
  /** The field that it is made from: its kind, rules, `hidden`, `readOnly`. */
  readonly field: ShapeField
  /** How databases store it. Lists and nested classes are `json` whatever their kind. */
  readonly storage: StorageClass
  /** Which comparisons filters may use. */
  readonly compares: ColumnComparison
  /** A boolean: stored as 0 and 1 in a database without such a type. */
  readonly isBoolean: boolean
  /** Null is allowed: the field is nullable, or optional without a default. */
  readonly nullable: boolean
  readonly isKey: boolean
  /** For keys: the database generates `increment`, the repository `uuid`. */
  readonly generated: 'increment' | 'uuid' | undefined
  /** Its values are UUIDs, stored in lower case: a UUID key, fields that hold one, and those of kind `uuid`. */
  readonly isUuid: boolean
}

/** The kind's comparison; `list` for lists of values, `json` for values within JSON, by their path. */
export type ColumnComparison = Comparison | 'list' | 'json'

export interface TableIndex {
  readonly name: string
  readonly columns: readonly Column[]
  /** Unique, among undeleted rows if the table soft-deletes. */
  readonly unique: boolean
  /** `undefined` for a plain index: all columns ascending, all rows in it. */
  readonly form?: IndexForm | undefined
}

/** The options of `@Record({ indexes })` beyond the fields. */
export interface IndexForm {
  /** One for each column. */
  readonly orders: readonly { readonly descending: boolean; readonly nullsFirst: boolean }[]
  /** Only rows that match are in it. */
  readonly where: Readonly<Record<string, unknown>> | undefined
  /** For patterns, if the database has trigram indexes. */
  readonly like: boolean
}

/** The option `@Record({ search })`. */
export interface TableSearch {
  /** The name in the database: searches with the same name have the same columns. */
  readonly name: string
  /** The most important one first. */
  readonly columns: readonly Column[]
}

/** A table as engines see it. */
export interface KeyedTable {
  /** The table's name in the database. */
  readonly name: string
  readonly key: Column
  /** The column of `@Record({ shardBy })`: a row is found by it and its key. */
  readonly shard: Column | undefined
}
