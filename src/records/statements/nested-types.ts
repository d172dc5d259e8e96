/** The types of related rows in writes of programs. Source: decisions, Second storey: records, Nested updates. */
import type { Id } from '../filters/list-options.js'
import type { Changes } from './additions.js'

/** Changes of the rows of a `@HasMany` or `@ManyToMany`, all or nothing. */
export interface NestedList<R extends object> {
  /** New rows, which get this row's key or a link to it. */
  create?: readonly NewValues<R>[]
  /** Changes of its rows, each with its key. */
  update?: readonly NestedChanges<R>[]
  /** Rows to be linked to this one, whichever row had them. */
  connect?: readonly Id[]
  /** Rows to be unlinked, but not deleted. */
  disconnect?: readonly Id[]
  /** Linked rows to be deleted. */
  delete?: readonly Id[]
}

/** Changes of the row of a `@BelongsTo`: one of these. */
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

/** The values of a new row and of rows nested in it. */
export type NewValues<T> = Partial<T> | WithNested<T>

/** The changes of a row and of rows nested in it. */
export type NestedChanges<T> =
  Changes<T> | { [K in keyof T]?: Changes<T>[K] | NestedIn<NonNullable<T[K]>> }
