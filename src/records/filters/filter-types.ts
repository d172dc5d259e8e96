/** What a filter and an order may say, typed by the record. Source: public face, Records. */

/**
 * Which rows. Conditions beside each other must all hold.
 *
 * ```ts
 * { price: { gte: 5, lt: 10 }, name: { like: 'La%' } }        // and
 * { or: [{ price: { lt: 5 } }, { name: 'Lamp' }] }
 * { category: { name: 'Light' } }                              // through a relation: there is one such
 * { not: { reviews: { stars: { lt: 3 } } } }                   // none such
 * ```
 */
export type Where<T> = {
  [K in keyof T]?: T[K] extends (...args: never[]) => unknown
    ? never
    : WhereValue<NonNullable<T[K]>>
} & {
  and?: readonly Where<T>[]
  or?: readonly Where<T>[]
  not?: Where<T>
} & ('search' extends keyof T
    ? unknown
    : {
        /** All these words are in the texts that `@Record({ search })` names. */
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
  /** Equal; null is equal to null. */
  eq?: V | null
  /** Not equal; null differs from every value. */
  ne?: V | null
  gt?: V
  gte?: V
  lt?: V
  lte?: V
  /** One of these. Of none, no row. */
  in?: readonly (V | null)[]
  /** `%` is any text, `_` any character, a backslash takes the next as it is. Heeds case. */
  like?: string
  /** The same without regard to case. */
  ilike?: string
  /** Begins with this text, character for character: `%` and `_` are themselves. Heeds case, as do the next two. */
  startsWith?: string
  endsWith?: string
  contains?: string
  isNull?: boolean
}

/** Compares a value within JSON: `{ path: ['a', 'b'], gte: 1 }`. Values of another type are as none. */
export type JsonTest = Omit<Operators<string | number | boolean>, 'has'> & {
  /** Keys, and places in lists. */
  path: readonly (string | number)[]
}

export type Direction = 'asc' | 'desc'

/** `{ price: 'desc', name: 'asc' }`, or a list of such. Nulls come last unless `{ nulls: 'first' }`; ties go by the key. */
export type OrderBy<T> = OrderTerms<T> | readonly OrderTerms<T>[]

export type OrderTerms<T> = {
  [K in keyof T]?: Direction | { direction?: Direction; nulls?: 'first' | 'last' }
}
