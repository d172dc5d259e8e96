/** What programs may write of related rows with a row. Source: decisions, Second storey: records, Nested updates. */
import type { Id } from '../filters/list-options.js'
import type { Changes } from './additions.js'

/** What is done with the rows of a `@HasMany` or `@ManyToMany`: all of it, or nothing. */
export interface NestedList<R extends object> {
  /** New rows, which get this row's key or are tied to it. */
  create?: readonly NewValues<R>[]
  /** Changes of its rows, each with its key. */
  update?: readonly NestedChanges<R>[]
  /** Rows that become its own, whoever had them. */
  connect?: readonly Id[]
  /** Rows that are no longer its own, and stay. */
  disconnect?: readonly Id[]
  /** Rows of its own that are deleted. */
  delete?: readonly Id[]
}

/** What is done with the row of a `@BelongsTo`: one of these. */
export interface NestedOne<R extends object> {
  create?: NewValues<R>
  update?: NestedChanges<R>
  connect?: Id
  disconnect?: true
  delete?: true
}

type NestedIn<V> = V extends readonly (infer R extends object)[]
  ? NestedList<R>
  : V extends object
    ? NestedOne<V>
    : never

type WithNested<T> = { [K in keyof T]?: T[K] | NestedIn<NonNullable<T[K]>> }

/** The values of a new row, and of rows nested in it. */
export type NewValues<T> = Partial<T> | WithNested<T>

/** What changes of a row, and of rows nested in it. */
export type NestedChanges<T> =
  Changes<T> | { [K in keyof T]?: Changes<T>[K] | NestedIn<NonNullable<T[K]>> }
