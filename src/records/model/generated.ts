/** `Generated<T>`: marks the type of a property that a new row need not have. */

declare const filled: unique symbol

/** The mark of `Generated` and `Rel`. Exported so that declaration files can refer to it. */
export interface HasDefault {
  readonly [filled]?: true
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

/** The type without its mark. */
export type Unmarked<V> = V extends null | undefined
  ? V
  : typeof filled extends keyof V
    ? V extends infer P & HasDefault
      ? P
      : V
    : V
