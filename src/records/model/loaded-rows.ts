/**
 * Types of rows by what a call has loaded: a relation that `with` does not name is not in the type. Source: decisions,
 * Records: queries.
 */
import type { IsRelation, Unmarked } from './generated.js'

/**
 * A row without its relations: the fields, getters and methods of its class. Every row of the record fits, also one with
 * loaded relations, so it is the type for the parameter of a function.
 *
 * ```ts
 * function label(ticket: Row<Ticket>): string
 * ```
 */
export type Row<T> = { [K in keyof T as IsRelation<T[K]> extends true ? never : K]: T[K] }

/**
 * A row with the relations that `with` has loaded: `Loaded<Ticket, 'project' | 'reviews.author'>`.
 *
 * @typeParam Paths names of relations, or dotted paths
 */
export type Loaded<T, Paths extends string> = Row<T> & {
  [K in FirstName<Paths> & keyof T]: Related<T, K, 'loaded', RestOf<Paths, K & string>>
}

/** As `Loaded`, for a caller: a related row is null if the caller may not see it. */
export type Visible<T, Paths extends string> = Row<T> & {
  [K in FirstName<Paths> & keyof T]: Related<T, K, 'visible', RestOf<Paths, K & string>>
}

/** A row of which only the run time knows the loaded relations: each of them may be missing. */
export type MaybeLoaded<T> = Row<T> & { [K in RelatedName<T>]?: Related<T, K, 'maybe', never> }

/** A row with the numbers of its related rows, which `counts` has named: `reviewsCount`. */
export type WithCounts<T, Names extends string> = T & RelatedCounts<Names>

/** A row without its relations: `Row<T>`, or the class itself for a record without relations. */
export type RowOf<T> = [RelatedName<T>] extends [never] ? T : Row<T>

/**
 * A row as a call returns it.
 *
 * @typeParam O the type of the options: `{ with: ['project'], counts: ['reviews'] }`
 * @typeParam R `visible` for a row that a caller may see
 */
export type RowBy<T, O, R extends RelationState = 'loaded'> = O extends {
  readonly counts: readonly (infer Name extends string)[]
}
  ? number extends O['counts']['length']
    ? LoadedBy<T, WithOf<O>, R> & Partial<RelatedCounts<Name>>
    : WithCounts<LoadedBy<T, WithOf<O>, R>, Name>
  : LoadedBy<T, WithOf<O>, R>

/** What is known about a related row: it was read, by a caller, or it may have been read. */
type RelationState = 'loaded' | 'visible' | 'maybe'

type RelatedCounts<Names extends string> = { [Name in Names as `${Name}Count`]: number }

type WithOf<O> = O extends { readonly with?: infer Paths } ? Paths : undefined

type LoadedBy<T, Paths, R extends RelationState> = [unknown] extends [Paths]
  ? RowOf<T>
  : number extends Extract<Paths, readonly unknown[]>['length']
    ? MaybeLoaded<T>
    : LoadedByTuple<T, Paths, R>

/** Literal lists, such as `all ? ['project'] : []`. */
type LoadedByTuple<T, Paths, R extends RelationState> = Paths extends readonly [
  unknown,
  ...unknown[],
]
  ? ReadRow<T, R, Paths[number] & string>
  : RowOf<T>

type ReadRow<T, R extends RelationState, Paths extends string> = R extends 'maybe'
  ? MaybeLoaded<T>
  : [Paths] extends [never]
    ? RowOf<T>
    : R extends 'visible'
      ? Visible<T, Paths>
      : Loaded<T, Paths>

/** The names of properties that are declared with `Rel`. */
type RelatedName<T> = 0 extends 1 & T
  ? never
  : keyof T & keyof { [K in keyof T as IsRelation<T[K]> extends true ? K : never]: unknown }

/** `reviews` of `reviews.author`. */
type FirstName<Path> = Path extends `${infer Name}.${string}` ? Name : Path

/** `author` of `reviews.author`. */
type RestOf<Path, Name extends string> = Path extends `${Name}.${infer Rest}` ? Rest : never

/** The value of a relation. */
type Related<T, K extends keyof T, R extends RelationState, Paths extends string> =
  Unmarked<NonNullable<T[K]>> extends infer Value
    ? Value extends readonly (infer Item)[]
      ? ReadRow<Unmarked<Item>, R, Paths>[]
      : ReadRow<Value, R, Paths> | NullOf<T, K, R>
    : never

/** Null if the property may be null, if the key of the other row may be, or if a caller may not see that row. */
type NullOf<T, K extends keyof T, R extends RelationState> = R extends 'loaded'
  ? null extends T[K]
    ? null
    : T[`${K & string}Id` & keyof T] extends infer Key
      ? [Key] extends [NonNullable<Key>]
        ? never
        : null
      : never
  : null
