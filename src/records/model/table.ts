/**
 * A record class as a table: frozen data made once from its Shape. The repository, the schema's SQL, `crud` and GraphQL
 * read only this about records. Source: architecture, The house.
 */
import type { Comparison, StorageClass } from '../../fields/kinds/kind.js'
import type { Shape, ShapeField } from '../../fields/shape.js'
import type { Class } from '../../metadata/note.js'
import type { RecordOptions } from './record.js'
import type { WriteHooks } from './write-hooks.js'

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
  /** Its values are UUIDs, stored in lower case: a UUID key, and fields that hold one. */
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

export interface Table<T extends object = object> {
  readonly type: Class<T>
  /** The table's name in the database. */
  readonly name: string
  /** The options of `@Record`: query names, `softDelete`, `timestamps`, `rows`. */
  readonly options: Readonly<RecordOptions>
  readonly shape: Shape<T>
  readonly key: Column
  /** The column of `@Record({ shardBy })`: a row is found by it and its key. */
  readonly shard: Column | undefined
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
  /** Methods that run when a row is written; `undefined` if there are none. */
  readonly hooks: WriteHooks | undefined
}
