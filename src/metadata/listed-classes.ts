/**
 * The classes that modules of this process list, in any of its applications. A decorated class that no module lists was
 * probably forgotten.
 */
import { resolveClass, type Class, isClass } from './class.js'
import { findOtherCopyOf } from './dialect.js'

const classes = new Set<WeakRef<Class>>()
const remembered = new WeakSet<Class>()
/** Functions that return a class, which may not be defined yet. */
let thunks: (() => unknown)[] = []

/** @param entries entries of a list of `@Module`: classes, thunks, providers with a token */
export function rememberListed(entries: readonly unknown[]): void {
  for (const entry of entries) {
    if (isClass(entry)) remember(entry)
    else if (typeof entry === 'function') thunks.push(entry as () => unknown)
    else if (typeof entry === 'object' && entry !== null) rememberProvider(entry)
  }
}

function rememberProvider(entry: { readonly provide?: unknown; readonly use?: unknown }): void {
  const { provide, use } = entry
  if (isClass(provide)) remember(provide)
  if (typeof use !== 'object' || use === null) return
  const type: unknown = use.constructor
  if (isClass(type)) remember(type)
}

function remember(type: Class): void {
  if (remembered.has(type)) return
  remembered.add(type)
  classes.add(new WeakRef(type))
}

/** @returns the listed classes, except those of another copy of the package, which stop the start of their application */
export function listedClasses(): Class[] {
  thunks = thunks.filter((thunk) => {
    try {
      const type = resolveClass(thunk as () => Class)
      if (type !== undefined) remember(type)
      return type === undefined
    } catch {
      return true
    }
  })
  return [...classes].flatMap((reference) => {
    const type = reference.deref()
    if (type === undefined) classes.delete(reference)
    return type === undefined || findOtherCopyOf(type) !== undefined ? [] : type
  })
}
