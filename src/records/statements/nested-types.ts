/** The types of related rows in writes of programs. Source: decisions, Second storey: records, Nested updates. */
import type { Id } from '../filters/list-options.js'
import type { Demanded, Unmarked } from '../model/written-types.js'
import type { Changes } from './additions.js'

/** Changes of the rows of a `@HasMany` or `@ManyToMany`, all or nothing. */
export interface NestedList<R extends object> {
  /** New rows, which get this row's key or a link to it. */
  create?: readonly NestedRow<R>[]
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
  create?: NestedRow<R>
  update?: NestedChanges<R>
  connect?: Id
  disconnect?: true
  delete?: true
}

type NestedIn<M, V = Unmarked<NonNullable<M>>> = V extends readonly (infer R)[]
  ? R extends object
    ? NestedList<R>
    : never
  : V extends object
    ? NestedOne<V>
    : never

/** The values of a new row: those that it must name, and others. */
export type NewRow<T> = Pick<T, Demanded<T>> & Partial<T>

/** The values of a new row and of rows nested in it; with `category: { … }` it need not name `categoryId`. */
export type NewValues<T> =
  | Values<T, Demanded<T>>
  | {
      [K in Referring<T>]: Values<T, Exclude<Demanded<T>, `${Referring<T>}Id`>> & {
        [P in K]: NestedIn<T[P]>
      }
    }[Referring<T>]

/** A row that is created with another one, which sets the key that refers to it. */
type NestedRow<T> = Values<T, Exclude<Demanded<T>, `${string}Id`>>

type Values<T, Needed extends keyof T> = { [K in Needed]: T[K] | NestedIn<T[K]> } & {
  [K in keyof T]?: T[K] | NestedIn<T[K]>
}

type Referring<T> = {
  [K in keyof T & string]: `${K}Id` extends keyof T ? K : never
}[keyof T & string]

/** The changes of a row and of rows nested in it. */
export type NestedChanges<T> = Changes<T> | { [K in keyof T]?: Changes<T>[K] | NestedIn<T[K]> }
