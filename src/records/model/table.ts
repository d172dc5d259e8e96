/**
 * A record class as a table: frozen data made once from its Shape. The repository, the schema's SQL, `crud` and GraphQL
 * all read this and nothing else about records. Source: architecture, The house.
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
  /** The field that it was made from: its kind, rules, `hidden`, `readOnly`. */
  readonly field: ShapeField
  /** How databases keep it. Lists and nested classes are `json` whatever their kind. */
  readonly storage: StorageClass
  /** Which comparisons of a filter make sense. */
  readonly compares: ColumnComparison
  /** A truth value: 0 and 1 in a database without a type for it. */
  readonly isBoolean: boolean
  /** Null is possible: the field is nullable, or optional without a default. */
  readonly nullable: boolean
  readonly isKey: boolean
  /** For keys: `increment` is given by the database, `uuid` by the repository. */
  readonly generated: 'increment' | 'uuid' | undefined
  /** Its values are UUIDs, kept in lower case: a UUID key, and fields that hold one. */
  readonly isUuid: boolean
}

/** What the kind says; `list` for lists of values, `json` for what JSON has within: values by their path. */
export type ColumnComparison = Comparison | 'list' | 'json'

export interface TableIndex {
  readonly name: string
  readonly columns: readonly Column[]
  /** Unique among living rows where the table deletes softly. */
  readonly unique: boolean
  /** `undefined` for a plain one: every column ascending, every row in it. */
  readonly form?: IndexForm | undefined
}

/** What `@Record({ indexes })` says beyond the fields. */
export interface IndexForm {
  /** For each column. */
  readonly orders: readonly { readonly descending: boolean; readonly nullsFirst: boolean }[]
  /** Only rows of which this holds are in it. */
  readonly where: Readonly<Record<string, unknown>> | undefined
  /** For patterns, where the database has trigrams. */
  readonly like: boolean
}

/** What `@Record({ search })` says. */
export interface TableSearch {
  /** Of the database: of the same name are searches of the same columns. */
  readonly name: string
  /** The one that counts most first. */
  readonly columns: readonly Column[]
}

/** A pair of records tied by keys. `local` and `foreign` always hold the same values on both sides. */
export interface Relation {
  /** The property, `category`. */
  readonly name: string
  readonly kind: 'belongsTo' | 'hasMany' | 'manyToMany'
  /** The side that has the property. */
  readonly table: Table
  /** The other side. Its relations are there once `readTable` has returned. */
  readonly target: Table
  /** Column of this table: the foreign key of `belongsTo`, the key of the others. */
  readonly local: Column
  /** Column of the target: its key, or for `hasMany` the foreign key there. */
  readonly foreign: Column
  /** Of `manyToMany`: the table of pairs between the two. */
  readonly join: JoinTable | undefined
  /** Of `belongsTo`. */
  readonly onDelete: 'restrict' | 'cascade' | 'setNull'
  /** Of two records that are sharded by the same field: both sides of it, which hold the same value too. */
  readonly shards: { readonly local: Column; readonly foreign: Column } | undefined
}

/** A table of pairs, key to key, each pair once. */
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
  /** What `@Record` said: query names, `softDelete`, `timestamps`, `rows`. */
  readonly options: Readonly<RecordOptions>
  readonly shape: Shape<T>
  readonly key: Column
  /** What `@Record({ shardBy })` names: a row is found by it and its key. */
  readonly shard: Column | undefined
  /** In the order of the fields; relations have none. */
  readonly columns: readonly Column[]
  readonly byProperty: ReadonlyMap<string, Column>
  readonly indexes: readonly TableIndex[]
  /** The texts that are searched by their words. */
  readonly search: TableSearch | undefined
  /** By property. */
  readonly relations: ReadonlyMap<string, Relation>
  /** `deleted_at`, where the table deletes softly. */
  readonly deletedAt: Column | undefined
  /** `updated_at`, where the table keeps timestamps. */
  readonly updatedAt: Column | undefined
  /** `version`, where the table counts how often a row was written. */
  readonly version: Column | undefined
  /** Methods that run when a row is written; `undefined` where there are none. */
  readonly hooks: WriteHooks | undefined
}
