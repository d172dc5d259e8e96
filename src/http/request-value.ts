/** Values that a program stores with a request: an interceptor sets them, later code reads them. */
import type { HttpRequest } from './request.js'

/** A value of requests, identified by this object and not by its name. */
export interface RequestValue<T> {
  readonly name: string
  set(request: HttpRequest, value: T): void
  /** `undefined` where nobody set it. */
  get(request: HttpRequest): T | undefined
}

/**
 * Makes a value of requests. It is gone with the request.
 *
 * @param name for debuggers: two values of one name do not meet
 */
export function requestValue<T>(name: string): RequestValue<T> {
  const key = Object.freeze({ name })
  return Object.freeze({
    name,
    set: (request: HttpRequest, value: T): void => {
      const holder = request as ValueHolder
      const existing = find(holder, key)
      const reads = holder.callerReads ?? 0
      if (existing === undefined) holder.values = { key, value, reads, other: holder.values }
      else Object.assign(existing, { value, reads })
    },
    get: (request: HttpRequest): T | undefined => {
      const holder = request as ValueHolder
      const stored = find(holder, key)
      if (stored === undefined) return undefined
      // What was made of the caller is the caller's.
      if (stored.reads !== 0) holder.callerReads = (holder.callerReads ?? 0) | stored.reads
      return stored.value as T
    },
  })
}

/** A value with its request. There are few: a list of them is searched faster than a map is made. */
export interface StoredValue {
  readonly key: object
  value: unknown
  /** What had been read of the caller when it was set. */
  reads: number
  readonly other: StoredValue | undefined
}

interface ValueHolder {
  values?: StoredValue | undefined
  callerReads?: number
}

function find({ values }: ValueHolder, key: object): StoredValue | undefined {
  let stored = values
  while (stored !== undefined && stored.key !== key) stored = stored.other
  return stored
}
