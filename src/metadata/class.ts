/** Classes, references to classes that are defined later, and base classes. */

/** Any class, abstract ones included. */
export type Class<T = object> = abstract new (...args: never[]) => T

/**
 * `Item`, or `() => Item` if the class is defined later (import cycles, classes further down the file).
 */
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
  const resolved: unknown = (reference as () => unknown)()
  return isClass(resolved) ? (resolved as Class<T>) : undefined
}

/** True for classes, whose `prototype` cannot be assigned; false for other functions. */
export function isClass(value: unknown): value is Class {
  if (typeof value !== 'function') return false
  return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false
}

/** The class as a constructor. The caller knows that it is not abstract. */
export function constructorOf(type: Class): new (...args: never[]) => object {
  return type as unknown as new (...args: never[]) => object
}

/** The class and its base classes, the topmost first. */
export function lineage(owner: Class): Class[] {
  const classes: Class[] = []
  let current: unknown = owner
  while (typeof current === 'function' && current !== Function.prototype) {
    classes.unshift(current as Class)
    current = Object.getPrototypeOf(current)
  }
  return classes
}
