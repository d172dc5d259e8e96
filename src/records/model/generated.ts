/** `Generated<T>` and the marks of types: of properties that a new row need not have, and of relations. */

declare const filled: unique symbol
declare const related: unique symbol

/** The mark of `Generated` and `Rel`. Exported so that declaration files can refer to it. */
export interface HasDefault {
  readonly [filled]?: true
}

/** The second mark of `Rel`. Exported so that declaration files can refer to it. */
export interface IsRelated {
  readonly [related]?: true
}

/**
 * The type of a property that a new row does not need, because a default, a hook or the database sets it. Otherwise
 * equal to `T`.
 *
 * ```ts
 * @Field('string', { default: 'open' }) status!: Generated<string>
 * ```
 */
export type Generated<T> = T extends null | undefined ? T : T & HasDefault

/** Whether a type has the mark. */
export type HasMark<V> = typeof filled extends keyof V ? true : false

/** Whether a property is declared with `Rel`. */
export type IsRelation<V> = 0 extends 1 & V
  ? false
  : [NonNullable<V>] extends [never]
    ? false
    : typeof related extends keyof NonNullable<V>
      ? true
      : false

/** The type without its marks. */
export type Unmarked<V> = V extends null | undefined
  ? V
  : typeof related extends keyof V
    ? V extends infer P & HasDefault & IsRelated
      ? P
      : V
    : typeof filled extends keyof V
      ? V extends infer P & HasDefault
        ? P
        : V
      : V
