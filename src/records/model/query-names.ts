/**
 * Types of the names in a query, made from the types of a record's properties: columns, numbers and relations. A JSON
 * field with objects looks like a relation here, so the run time checks the names too. Source: decisions, Records: queries.
 */
import type { Unmarked } from './generated.js'

declare const exact: unique symbol

/** The mark of `ExactNumber`. Exported so that declaration files can refer to it. */
export interface IsExact {
  readonly [exact]?: true
}

/**
 * Text of an exact number: the type for fields of the kinds `decimal` and `bigint`. Every text is assignable to it. The
 * compiler accepts `sum` and `avg` only for numbers and for fields of this type.
 *
 * ```ts
 * @Field('decimal', { precision: 12, scale: 2 }) price!: ExactNumber
 * ```
 */
export type ExactNumber = string & IsExact

/** The types of values that one column stores and compares. */
export type ColumnValue = string | number | bigint | boolean | Uint8Array

type AnyFunction = (...args: never[]) => unknown

/** `T[K]` without null, undefined and marks. */
type ValueOf<T, K extends keyof T> = Unmarked<NonNullable<T[K]>>

/** Whether it is `any`, which fits everywhere. */
type IsAny<V> = 0 extends 1 & V ? true : false

/** Whether a column holds the value. */
type IsColumn<V> = [V] extends [ColumnValue] ? true : false

type IsOrdered<V> = [V] extends [string | number | bigint] ? true : false

type IsNumber<V> =
  IsAny<V> extends true
    ? true
    : [V] extends [number | bigint]
      ? true
      : [V] extends [string]
        ? IsExactText<V>
        : false

/** Distinguishes `ExactNumber` from other texts. */
export type IsExactText<V> = typeof exact extends keyof V ? true : false

/** Whether it is one row or a list of rows. */
type IsRow<V> =
  IsAny<V> extends true
    ? true
    : [V] extends [ColumnValue | Date | AnyFunction]
      ? false
      : V extends readonly (infer Item)[]
        ? IsRow<Item>
        : V extends object
          ? true
          : false

type IsRows<V> =
  IsAny<V> extends true ? true : V extends readonly (infer Item)[] ? IsRow<Item> : false

/** The names of fields that are one column of comparable values. Lists, JSON objects and relations have no name here. */
export type ColumnName<T> = keyof {
  [K in keyof T as IsColumn<ValueOf<T, K>> extends true ? K : never]: unknown
} &
  string

/** The names of fields with a smallest and a largest value: numbers and texts. */
export type OrderedName<T> = keyof {
  [K in keyof T as IsOrdered<ValueOf<T, K>> extends true ? K : never]: unknown
} &
  string

/** The names of fields that can be summed: numbers and `ExactNumber`. */
export type NumberName<T> = keyof {
  [K in keyof T as IsNumber<ValueOf<T, K>> extends true ? K : never]: unknown
} &
  string

/** The names of relations to one or to many rows. */
export type RelationName<T> = keyof {
  [K in keyof T as IsRow<ValueOf<T, K>> extends true ? K : never]: unknown
} &
  string

/** The names of relations to many rows. */
export type ManyRelationName<T> = keyof {
  [K in keyof T as IsRows<ValueOf<T, K>> extends true ? K : never]: unknown
} &
  string

/** The names of relations to one row. */
type OneRelationName<T> = keyof {
  [
    K in keyof T as IsRow<ValueOf<T, K>> extends true
      ? IsRows<ValueOf<T, K>> extends true
        ? never
        : K
      : never
  ]: unknown
} &
  string

/**
 * The dotted names of fields of records that a row belongs to, through at most two relations: `sample.project.name`. The run
 * time accepts four.
 */
export type RelatedColumnName<T> = {
  [Name in OneRelationName<T>]:
    `${Name}.${ColumnName<RelatedRecord<T, Name>>}` | NestedColumnName<Name, RelatedRecord<T, Name>>
}[OneRelationName<T>]

type NestedColumnName<First extends string, T> = {
  [Name in OneRelationName<T>]: `${First}.${Name}.${ColumnName<RelatedRecord<T, Name>>}`
}[OneRelationName<T>]

/** The type of the field with a dotted name. */
export type RelatedColumnValue<T, Path extends string> = Path extends `${infer Name}.${infer Rest}`
  ? RelatedColumnValue<RelatedRecord<T, Name>, Rest>
  : Path extends keyof T
    ? T[Path]
    : never

/**
 * A dotted path of relations: `reviews.author`. The type checks its first name. A call with a literal path checks every
 * name (`CheckedPaths`).
 */
export type RelationPath<T> = RelationName<T> | `${RelationName<T>}.${string}`

/** The related record of a relation. */
type RelatedRecord<T, Name extends string> = Name extends keyof T
  ? ValueOf<T, Name> extends readonly (infer Item)[]
    ? Unmarked<NonNullable<Item>>
    : ValueOf<T, Name>
  : never

/** Paths as given. A wrong one is an error that names the relation and its record, and the names that are possible. */
export type CheckedPaths<Paths, T> = Paths extends readonly unknown[]
  ? { readonly [Index in keyof Paths]: CheckedPath<Paths[Index], T> }
  : Paths

type CheckedPath<Path, T> = string extends Path
  ? Path
  : Path extends `${infer Name}.${infer Rest}`
    ? Name extends RelationName<T>
      ? CheckedPath<Rest, RelatedRecord<T, Name>> extends infer Checked
        ? Checked extends string
          ? `${Name}.${Checked}`
          : Checked
        : never
      : RelationName<T> | NoSuchRelation<Name, T>
    : Path extends RelationName<T>
      ? Path
      : RelationName<T> | NoSuchRelation<Path, T>

/** The type of a wrong path in `with`: `NoSuchRelation<"itms", Team>`. */
export interface NoSuchRelation<Name, T> {
  readonly [wrong]: [Name, T]
}

declare const wrong: unique symbol
