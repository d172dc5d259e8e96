/** The types of filters and orders, derived from the record. Source: public face, Records. */
import type { Unmarked } from '../model/written-types.js'

/**
 * Filters rows. Conditions side by side must all hold.
 *
 * ```ts
 * { price: { gte: 5, lt: 10 }, name: { like: 'La%' } }        // and
 * { or: [{ price: { lt: 5 } }, { name: 'Lamp' }] }
 * { category: { name: 'Light' } }                              // through a relation: at least one row matches
 * { not: { reviews: { stars: { lt: 3 } } } }                   // no row matches
 * ```
 */
export type Where<T> = {
  [K in keyof T]?: T[K] extends (...args: never[]) => unknown
    ? never
    : WhereValue<Unmarked<NonNullable<T[K]>>>
} & {
  and?: readonly Where<T>[]
  or?: readonly Where<T>[]
  not?: Where<T>
} & ('search' extends keyof T
    ? unknown
    : {
        /** All these words must occur in the texts that `@Record({ search })` names. */
        search?: string
      })

type WhereValue<V> = V extends readonly (infer Item)[]
  ? Item extends object
    ? Where<Item> | Pick<Operators<V>, 'isNull'> | JsonTest
    : Pick<Operators<V>, 'isNull'> & { has?: Item }
  : V extends Uint8Array
    ? V | null | Operators<V>
    : V extends object
      ? Where<V> | Pick<Operators<V>, 'isNull'> | JsonTest
      : V | null | Operators<V>

export interface Operators<V> {
  /** Equal; null equals null. */
  eq?: V | null
  /** Not equal; null differs from every value. */
  ne?: V | null
  gt?: V
  gte?: V
  lt?: V
  lte?: V
  /** One of these. An empty list matches no row. */
  in?: readonly (V | null)[]
  /** `%` is any text, `_` any character; a backslash before a character takes it literally. Case-sensitive. */
  like?: string
  /** The same, case-insensitive. */
  ilike?: string
  /**
   * Starts with this text, taken literally: `%` and `_` are ordinary characters. Case-sensitive, as are the next two.
   */
  startsWith?: string
  endsWith?: string
  contains?: string
  isNull?: boolean
}

/** Compares a value within JSON: `{ path: ['a', 'b'], gte: 1 }`. A value of another type counts as missing. */
export type JsonTest = Omit<Operators<string | number | boolean>, 'has'> & {
  /** Keys of objects, and indexes of lists. */
  path: readonly (string | number)[]
}

export type Direction = 'asc' | 'desc'

/**
 * `{ price: 'desc', name: 'asc' }`, or a list of such. Nulls come last unless `{ nulls: 'first' }`; ties are ordered by
 * the key.
 */
export type OrderBy<T> = OrderTerms<T> | readonly OrderTerms<T>[]

export type OrderTerms<T> = {
  [K in keyof T]?: Direction | { direction?: Direction; nulls?: 'first' | 'last' }
}
