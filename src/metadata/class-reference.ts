/** Refers to a class directly, or by a thunk if it is defined later (import cycles, classes further down the file). */
import { isClass } from './dialect.js'
import type { Class } from './note.js'

/** `Item` or `() => Item`. */
export type ClassReference<T = object> = Class<T> | (() => Class<T>)

/** A class, or a list of it: `Item`, `() => Item`, `[Item]`, `[() => Item]`, `() => [Item]`. */
export type Declared = ClassReference | readonly [ClassReference] | (() => readonly [Class])

/**
 * @returns the class, or `undefined` if there is none (yet): an import cycle is read too early, or the thunk returns
 * something else
 */
export function resolveClass<T>(reference: ClassReference<T> | undefined): Class<T> | undefined {
  if (isClass(reference)) return reference as Class<T>
  if (typeof reference !== 'function') return undefined
  const answer: unknown = (reference as () => unknown)()
  return isClass(answer) ? (answer as Class<T>) : undefined
}
