/** The table of a record and its relations, as far as statements need them. `records/model` creates both. */

import type { Dialect } from '../engines/contract/dialect.js'
import {
  storedColumnsOf,
  type Column,
  type KeyedTable,
  type TableIndex,
} from '../engines/contract/table.js'

export interface SqlTable extends KeyedTable {
  /** In the order of the fields. */
  readonly columns: readonly Column[]
  readonly indexes: readonly TableIndex[]
  /** `deleted_at`, if the table soft-deletes. */
  readonly deletedAt: Column | undefined
  /** `version`, if the table counts writes. */
  readonly version: Column | undefined
  /** By property name. */
  readonly relations: ReadonlyMap<string, SqlRelation>
}

/** A relation between two tables. Related rows have the same value in `local` and `foreign`. */
export interface SqlRelation {
  readonly name: string
  readonly kind: 'belongsTo' | 'hasMany' | 'manyToMany'
  readonly table: SqlTable
  /** The related table. */
  readonly target: SqlTable
  /** Column of this table: the foreign key for `belongsTo`, otherwise the key. */
  readonly local: Column
  /** Column of the target: its key, or for `hasMany` its foreign key. */
  readonly foreign: Column
  /** For `manyToMany`: the join table between the two. */
  readonly join: JoinTable | undefined
  /** If both tables are sharded by the same field: the columns of that field. Related rows have the same value in both. */
  readonly shards: { readonly local: Column; readonly foreign: Column } | undefined
}

/**
 * Whether the rows of a table without shards are related to rows in shards, which the database does not read for each row.
 * The field of the shard refers to the row.
 */
export function isApart(
  { table, target }: Pick<SqlRelation, 'table' | 'target'>,
  { can }: Pick<Dialect, 'can'>,
): boolean {
  return table.shard === undefined && target.shard !== undefined && !can.subqueriesInShards
}

/** A join table. It contains each pair of keys once. */
export interface JoinTable {
  readonly name: string
  /** The columns with the key of the relation's `table`. */
  readonly from: JoinEnd
  /** The columns with the key of the relation's `target`. */
  readonly to: JoinEnd
}

/** One end of the links of a join table. */
export interface JoinEnd {
  readonly columns: readonly string[]
  /** The key that the columns contain. */
  readonly key: Column
}

/** Whether the index contains every row and can find it by the value of the first column. */
export function coversAllRows({ form }: TableIndex): boolean {
  return form === undefined || (form.where === undefined && !form.like)
}

type IndexedTable = Pick<SqlTable, 'key' | 'shard' | 'indexes'>

/** Whether the database finds and sorts rows by the column with a key or an index. A shard before the column is always known. */
export function isIndexed(column: Column, { key, shard, indexes }: IndexedTable): boolean {
  if (column === key || column === shard || column === key.parts?.[0]) return true
  const columns = new Set(storedColumnsOf(column))
  return indexes.some(
    (index) =>
      coversAllRows(index) &&
      areTheSame(columnsAfterShard(index, shard).slice(0, columns.size), columns),
  )
}

function areTheSame(columns: readonly Column[], others: ReadonlySet<Column>): boolean {
  return columns.length === others.size && columns.every((column) => others.has(column))
}

/** Whether the column alone identifies a row. In a sharded table: within its shard. */
export function isUnique(column: Column, table: IndexedTable): boolean {
  if (column === table.key) return true
  const columns = new Set(storedColumnsOf(column))
  return uniqueIndexesOf(table).some((index) =>
    areTheSame(columnsAfterShard(index, table.shard), columns),
  )
}

/** Unique indexes that apply to all rows, or to all rows that are not soft-deleted. */
export function uniqueIndexesOf({ indexes }: Pick<SqlTable, 'indexes'>): readonly TableIndex[] {
  return indexes.filter(({ unique, form }) => unique && form?.where === undefined)
}

function columnsAfterShard({ columns }: TableIndex, shard: Column | undefined): readonly Column[] {
  return shard !== undefined && columns[0] === shard && columns.length > 1
    ? columns.slice(1)
    : columns
}
