/** The types of optional and required properties of new rows. Source: decisions, Records: writes. */

declare const filled: unique symbol

/** The mark that `Generated` and `Rel` leave; exported so that declaration files can name it. */
export interface HasDefault {
  readonly [filled]?: true
}

/**
 * The type of a property that a new row need not name, because a default, a hook or the database fills it. It is read
 * and written like the type itself.
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

/** The properties that a new row must name: neither optional (`?`), `Generated`, relations (`Rel`) nor read-only. */
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

/** The usual key, and the properties that `version`, `timestamps` and `softDelete` of `@Record` fill. */
type FilledByName = 'id' | 'version' | 'createdAt' | 'updatedAt' | 'deletedAt'

/** Tells types apart that differ only in `readonly`, such as a property and a getter. */
/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- two such types are one only where A and B are identical */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
