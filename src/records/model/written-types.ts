/** Types for the values of new rows: which properties are required. Source: decisions, Records: writes. */

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

/** The type without its mark. */
export type Unmarked<V> = V extends null | undefined
  ? V
  : typeof filled extends keyof V
    ? V extends infer P & HasDefault
      ? P
      : V
    : V

/** The required properties of a new row: neither optional (`?`), `Generated`, relations (`Rel`) nor read-only. */
export type Demanded<T> = {
  [K in keyof T]-?: IsDemanded<T, K> extends true ? K : never
}[keyof T]

type IsDemanded<T, K extends keyof T> = K extends FilledByName | symbol
  ? false
  : object extends Pick<T, K>
    ? false
    : typeof filled extends keyof NonNullable<T[K]>
      ? false
      : T[K] extends (...args: never[]) => unknown
        ? false
        : Same<Pick<T, K>, Readonly<Pick<T, K>>> extends true
          ? false
          : true

/** The usual name of the key, and the properties that `version`, `timestamps` and `softDelete` of `@Record` set. */
type FilledByName = 'id' | 'version' | 'createdAt' | 'updatedAt' | 'deletedAt'

/** Distinguishes types that differ only in `readonly`, such as a property and a getter. */
/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- two such types are one only where A and B are identical */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
