/**
 * The description of a table for SQL: its columns, indexes and search. Frozen data that `records/model` creates from a
 * record class. Engines know nothing else about records.
 */

import type { Comparison, StorageClass } from '../../fields/kinds/kind.js'
import type { ShapeField } from '../../fields/shape.js'

/** The prefix of search indexes, which tables of the application must not have. */
export const searchIndexPrefix = 'filigree_search_'

export function isSearchIndexName(name: string): boolean {
  return name.startsWith(searchIndexPrefix)
}

/** Prefixes that are reserved for databases and the framework. */
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

/** Names that columns of subqueries lose, even if quoted, by the engine's title. Source: SQLite, sqlite3ColumnsFromExprList. */
export const unnameableColumns: ReadonlyMap<string, string> = new Map([
  ['true', 'SQLite'],
  ['false', 'SQLite'],
])

/** One column, made from one field. */
export interface Column {
  /** The property's name, `categoryId`. */
  readonly property: string
  /** The column's name, `category_id`. */
  readonly name: string
  /** The field: its kind, rules, `hidden`, `readOnly`. */
  readonly field: ShapeField
  /** The storage class. `json` for lists and nested classes. */
  readonly storage: StorageClass
  /** The comparisons that filters may use. */
  readonly compares: ColumnComparison
  /** Whether it is a boolean, which databases without such a type store as 0 and 1. */
  readonly isBoolean: boolean
  /** Whether null is allowed: the field is nullable, or optional without a default. */
  readonly nullable: boolean
  readonly isKey: boolean
  /** Whether the database computes the value, so that no statement writes it. */
  readonly isComputed: boolean
  /** For keys: the database generates `increment`, the repository `uuid`. */
  readonly generated: 'increment' | 'uuid' | undefined
  /**
   * Whether its values are UUIDs, stored in lower case: a UUID key, a foreign key of one, or a field of kind `uuid`.
   */
  readonly isUuid: boolean
  /** The type that the field names, as it is written there. Engines without such types ignore it. */
  readonly type: string | undefined
  /** Whether it is a list that engines with arrays store as an array of `type`. Other engines store it as JSON. */
  readonly isArray: boolean
  /**
   * For a key or foreign key of several columns: these columns, in order. The table has no column of this one's name: its
   * value is the JSON list of their values, as text.
   */
  readonly parts?: readonly Column[] | undefined
  /**
   * In a table that is partitioned by time, for the column of the time and for the key: the name of the column of which a
   * partition has a range. It is this one, or the UUID key that begins with the time.
   */
  readonly partition?: string | undefined
}

/** Whether the rows have a key. Views and some tables of other programs have none. */
export function hasKey({ key }: Pick<KeyedTable, 'key'>): boolean {
  return key.parts === undefined || key.parts.length > 0
}

/** The columns of the table in which a key or foreign key is stored. */
export function storedColumnsOf(column: Column): readonly Column[] {
  return column.parts ?? [column]
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
  /** The order of each column. */
  readonly orders: readonly { readonly descending: boolean; readonly nullsFirst: boolean }[]
  /** Only matching rows are in the index. */
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

/** The part of a table that engines use. */
export interface KeyedTable {
  /** The table's name in the database. */
  readonly name: string
  readonly key: Column
  /** The column of `@Record({ shardBy })`. A row is identified by it and its key. */
  readonly shard: Column | undefined
  /** The option `@Record({ partitionBy })`. Databases without partitions ignore it. */
  readonly partitions?: TablePartitions | undefined
}

/** How a table is partitioned by time. Each partition has the rows of one period of UTC. */
export interface TablePartitions {
  /** The field with the time of a row, which never changes. */
  readonly time: Column
  /** The column of which a partition has a range: the time as a part of the key, or a UUID key that begins with it. */
  readonly column: Column
  readonly every: 'hour' | 'day' | 'week' | 'month' | 'year'
  /** The age after which a partition is detached. Undefined: never. */
  readonly keep: { readonly count: number; readonly unit: TablePartitions['every'] } | undefined
  /** So few that a plan may contain all of them. */
  readonly areFew: boolean
}
