/** What statements know of a record: its table, and how it is tied to others. `records/model` makes both. */
import type { Column, KeyedTable, TableIndex } from '../engines/contract/table.js'

export interface SqlTable extends KeyedTable {
  /** In the order of the fields. */
  readonly columns: readonly Column[]
  readonly indexes: readonly TableIndex[]
  /** `deleted_at`, if the table soft-deletes. */
  readonly deletedAt: Column | undefined
  /** `version`, if the table counts writes. */
  readonly version: Column | undefined
  /** By property. */
  readonly relations: ReadonlyMap<string, SqlRelation>
}

/** How rows are tied to those of another table. `local` and `foreign` always hold the same values on both sides. */
export interface SqlRelation {
  readonly name: string
  readonly kind: 'belongsTo' | 'hasMany' | 'manyToMany'
  readonly table: SqlTable
  /** The other side. */
  readonly target: SqlTable
  /** Column of this table: the foreign key for `belongsTo`, otherwise the key. */
  readonly local: Column
  /** Column of the target: its key, or for `hasMany` its foreign key. */
  readonly foreign: Column
  /** For `manyToMany`: the join table between the two. */
  readonly join: JoinTable | undefined
  /** Of two tables that are sharded by the same field: both sides of it, which hold the same value too. */
  readonly shards: { readonly local: Column; readonly foreign: Column } | undefined
}

/** A join table of keys, with each pair once. */
export interface JoinTable {
  readonly name: string
  /** Holds the key of the tie's own table. */
  readonly from: string
  /** Holds the key of the tie's target. */
  readonly to: string
}

/** True if every row is in the index, and found by the first column's value. */
export function coversAllRows({ form }: TableIndex): boolean {
  return form === undefined || (form.where === undefined && !form.like)
}
