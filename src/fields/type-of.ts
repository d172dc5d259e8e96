/** Resolves classes that are declared directly, by a thunk, or in brackets for a list. Source: decisions, Validation and fields. */
import { isClass } from '../metadata/dialect.js'
import type { Class } from '../metadata/class-metadata.js'

export interface DeclaredType {
  readonly type: Class
  readonly list: boolean
}

/**
 * Call it after all modules are loaded.
 *
 * @param declared any value, because programs without types may declare anything
 * @returns `undefined` if the value leads to no class, for example a thunk of something undefined
 */
export function resolveType(declared: unknown): DeclaredType | undefined {
  const resolved = resolveThunk(declared)
  const list = Array.isArray(resolved)
  const type = list && resolved.length === 1 ? resolveThunk((resolved as unknown[])[0]) : resolved
  return isClass(type) ? { type, list } : undefined
}

function resolveThunk(declared: unknown): unknown {
  const isThunk = typeof declared === 'function' && !isClass(declared)
  return isThunk ? (declared as () => unknown)() : declared
}

/**
 * False for built-in classes such as `String`, `Object`, `Array` and `Promise`, which compilers emit for other types.
 */
export function isApplicationClass(type: unknown): type is Class {
  return isClass(type) && !builtIn.has(type)
}

const builtIn: ReadonlySet<unknown> = new Set<unknown>([
  String,
  Number,
  Boolean,
  Object,
  Array,
  Date,
  Function,
  Symbol,
  BigInt,
  Promise,
  RegExp,
  Map,
  Set,
  WeakMap,
  WeakSet,
  Error,
  ArrayBuffer,
  Uint8Array,
  Buffer,
  URL,
])
