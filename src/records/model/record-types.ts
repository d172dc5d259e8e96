/**
 * Types derived from a record's class: filters, orders, and the properties that a new row must have. Source: public API,
 * Records; decisions, Records: writes.
 */
import type { ColumnComparison } from '../../engines/contract/table.js'
import type { operators } from '../../sql/operators.js'
import type { HasMark, Unmarked } from './generated.js'
import type { CheckedPaths, ColumnName, ColumnValue, IsExactText } from './query-names.js'
import type { Skip } from './skip.js'

/**
 * Filters rows. All conditions of an object must hold.
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
        search?: string | Skip
      })

type WhereValue<V> =
  Skip | ColumnTest<Extract<V, ColumnValue>> | ObjectTest<Exclude<V, ColumnValue>>

/** A union such as `'open' | 'closed'` is one type of values, so that `in` takes both. */
type ColumnTest<V> = [V] extends [never] ? never : V | null | Operators<V>

type ObjectTest<V> = V extends readonly (infer Item)[]
  ? Item extends object
    ? Where<Item> | NullTest | JsonTest
    : NullTest & { has?: Item | Skip }
  : V extends object
    ? Where<V> | NullTest | JsonTest
    : V | null | Operators<V>

type NullTest = Pick<Operators<unknown>, 'isNull'>

/**
 * The comparisons of a column, made from the table of operators. `V` is the type of its values: patterns are only for
 * text, and booleans are not ordered.
 */
export type Operators<V> = OperatorsOf<typeof operators, V>

type OperatorsOf<Table, V> = {
  -readonly [Name in keyof Table as FitsValues<Table[Name], V> extends true ? Name : never]?:
    OperandOf<Table[Name], V> | Skip
}

type FitsValues<Entry, V> = Entry extends { operand: 'item' }
  ? false
  : Entry extends { fits: readonly (infer Fitting)[] }
    ? [Extract<Fitting, ComparisonOf<V>>] extends [never]
      ? false
      : true
    : false

/** How columns of these values compare. Types that are none of a column's, such as `unknown`, compare in every way. */
type ComparisonOf<V> = V extends boolean | Uint8Array
  ? 'equality'
  : V extends number | bigint
    ? 'order'
    : V extends string
      ? IsExactText<V> extends true
        ? 'order'
        : 'text'
      : ColumnComparison

type OperandOf<Entry, V> = Entry extends { operand: 'flag' }
  ? boolean
  : Entry extends { operand: 'pattern' | 'part' }
    ? string
    : Entry extends { operand: 'list' }
      ? readonly (V | null)[]
      : Entry extends { operand: 'values'; means: infer Meanings }
        ? { readonly [Index in keyof Meanings]: V }
        : Entry extends { takesNull: true }
          ? V | null
          : V

/** Compares a value within JSON: `{ path: ['a', 'b'], gte: 1 }`. A value of another type counts as missing. */
export type JsonTest = Operators<string | number | boolean> & {
  /** Keys of objects, and indexes of lists. */
  path: readonly (string | number)[]
}

export type Direction = 'asc' | 'desc'

/**
 * `{ price: 'desc', name: 'asc' }`, a text such as `'-price'`, or a list of these. To order by a field of the row that a relation refers
 * to, write `{ org: { name: 'asc' } }`. Nulls and missing rows come last unless `{ nulls: 'first' }`. Equal rows are
 * ordered by the key.
 */
export type OrderBy<T> = OrderTerms<T> | OrderText<T> | readonly (OrderTerms<T> | OrderText<T>)[]

/** A field in ascending order, or with `-` in descending order. */
type OrderText<T> = ColumnName<T> | `-${ColumnName<T>}`

export type OrderTerms<T> = { [K in keyof T]?: OrderOf<Unmarked<NonNullable<T[K]>>> }

/** The order by a column, or by fields of a related row. Lists and methods have none. */
type OrderOf<V> = [V] extends [ColumnValue | Date]
  ? OrderTerm
  : V extends readonly unknown[] | ((...args: never[]) => unknown)
    ? never
    : OrderTerms<V>

export type OrderTerm =
  Direction | Skip | { direction?: Direction | Skip; nulls?: 'first' | 'last' | Skip }

/**
 * Checks the type of a filter at its call, so that `undefined` is a compile error: `{ orgId: claims.org }` with a claim
 * that may be missing. Optional keys are allowed, such as the keys of a route's checked query. Unknown names are errors
 * too.
 *
 * @typeParam G the type of the argument
 * @typeParam S the expected type: `Where<Item>`
 */
export type Selected<G, S> = [S] extends [G] ? unknown : CheckedFilter<G, S>

/**
 * The same check for options that contain filters. It checks the paths of `with` too.
 *
 * @typeParam T the record
 */
export type SelectOptions<O, S, T> = [S] extends [O]
  ? unknown
  : {
      [K in keyof O]: K extends keyof S
        ? K extends 'orderBy'
          ? Selected<NonNullable<O[K]>, NonNullable<S[K]>> | undefined
          : K extends 'where' | 'search' | 'having'
            ? IsOptional<O, K> extends true
              ? O[K]
              : Selected<O[K], NonNullable<S[K]>>
            : K extends 'with'
              ? CheckedPaths<O[K], T>
              : O[K]
        : never
    }

type CheckedFilter<G, S> = undefined extends G
  ? Exclude<G, undefined>
  : G extends Scalar
    ? G
    : G extends readonly unknown[]
      ? { [I in keyof G]: Selected<G[I], S extends readonly (infer Item)[] ? Item : S> }
      : {
          [K in keyof G]: IsOptional<G, K> extends true
            ? G[K]
            : string extends K
              ? NonNullable<G[K]> | null
              : K extends NamesOf<S>
                ? Selected<G[K], TypeAt<S, K>>
                : [Exclude<NamesOf<S>, 'and' | 'or' | 'not' | 'search'>] extends [never]
                  ? Selected<G[K], S>
                  : never
        }

type Scalar =
  | string
  | number
  | bigint
  | boolean
  | Skip
  | null
  | Date
  | Uint8Array
  | ((...args: never[]) => unknown)

type IsOptional<O, K extends keyof O> = object extends Pick<O, K> ? true : false

/** The keys of all members of a union except lists. */
type NamesOf<S> = S extends readonly unknown[] ? never : S extends object ? keyof S : never

type TypeAt<S, K> = S extends object ? (K extends keyof S ? S[K] : never) : never

/** The required properties of a new row: neither optional (`?`), `Generated`, relations (`Rel`) nor read-only. */
export type Demanded<T> = {
  [K in keyof T]-?: IsDemanded<T, K> extends true ? K : never
}[keyof T]

type IsDemanded<T, K extends keyof T> = K extends FilledByName | symbol
  ? false
  : object extends Pick<T, K>
    ? false
    : HasMark<NonNullable<T[K]>> extends true
      ? false
      : T[K] extends (...args: never[]) => unknown
        ? false
        : Same<Pick<T, K>, Readonly<Pick<T, K>>> extends true
          ? false
          : true

/** The usual name of the key, and the properties that `version`, `timestamps` and `softDelete` of `@Record` set. */
type FilledByName = 'id' | 'version' | 'createdAt' | 'updatedAt' | 'deletedAt'

/** Distinguishes types that differ only in `readonly`, such as a property and a getter. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the types are equal only if A and B are identical
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
