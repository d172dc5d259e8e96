/**
 * A record class as a table: frozen data made once from its Shape. The repository, the schema's SQL, `crud` and GraphQL
 * read only this about records. Source: architecture, The house.
 */
import type { Column, KeyedTable, TableIndex, TableSearch } from '../../engines/contract/table.js'
import type { Shape } from '../../fields/shape.js'
import type { Class } from '../../metadata/note.js'
import type { RecordOptions } from './record.js'
import type { RecordHooks } from './write-hooks.js'

/** A relation between records by keys. `local` and `foreign` always hold the same values on both sides. */
export interface Relation {
  /** The property, `category`. */
  readonly name: string
  readonly kind: 'belongsTo' | 'hasMany' | 'manyToMany'
  /** The side that has the property. */
  readonly table: Table
  /** The other side. Its relations are complete once `readTable` has returned. */
  readonly target: Table
  /** Column of this table: the foreign key for `belongsTo`, otherwise the key. */
  readonly local: Column
  /** Column of the target: its key, or for `hasMany` its foreign key. */
  readonly foreign: Column
  /** For `manyToMany`: the join table between the two. */
  readonly join: JoinTable | undefined
  /** For `belongsTo`. */
  readonly onDelete: 'restrict' | 'cascade' | 'setNull'
  /** Of two records that are sharded by the same field: both sides of it, which hold the same value too. */
  readonly shards: { readonly local: Column; readonly foreign: Column } | undefined
}

/** A join table of keys, with each pair once. */
export interface JoinTable {
  readonly name: string
  /** Holds the key of the relation's own table. */
  readonly from: string
  /** Holds the key of the relation's target. */
  readonly to: string
}

export interface Table<T extends object = object> extends KeyedTable {
  readonly type: Class<T>
  /** The options of `@Record`: query names, `softDelete`, `timestamps`, `rows`. */
  readonly options: Readonly<RecordOptions>
  readonly shape: Shape<T>
  /** In the order of the fields, without relations. */
  readonly columns: readonly Column[]
  readonly byProperty: ReadonlyMap<string, Column>
  readonly indexes: readonly TableIndex[]
  /** The text fields in which words are searched. */
  readonly search: TableSearch | undefined
  /** By property. */
  readonly relations: ReadonlyMap<string, Relation>
  /** `deleted_at`, if the table soft-deletes. */
  readonly deletedAt: Column | undefined
  /** `updated_at`, if the table keeps timestamps. */
  readonly updatedAt: Column | undefined
  /** `version`, if the table counts writes. */
  readonly version: Column | undefined
  /** Methods that run when a row is written or deleted. */
  readonly hooks: RecordHooks
}
