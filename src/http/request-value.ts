/** Values that a program stores with a request: an interceptor sets them, later code reads them. */
import type { HttpRequest } from './request.js'

/** A value of requests, identified by this object and not by its name. */
export interface RequestValue<T> {
  readonly name: string
  set(request: HttpRequest, value: T): void
  /** `undefined` if it was not set. */
  get(request: HttpRequest): T | undefined
}

/**
 * Creates a value of requests. It is released with the request.
 *
 * @param name for debuggers; values with the same name are independent
 */
export function requestValue<T>(name: string): RequestValue<T> {
  const key = Object.freeze({ name })
  return Object.freeze({
    name,
    set: (request: HttpRequest, value: T): void => {
      const holder = request as ValueHolder
      const existing = find(holder, key)
      const reads = holder.callerReads ?? 0
      if (existing === undefined) holder.values = { key, value, reads, next: holder.values }
      else Object.assign(existing, { value, reads })
    },
    get: (request: HttpRequest): T | undefined => {
      const holder = request as ValueHolder
      const stored = find(holder, key)
      if (stored === undefined) return undefined
      // A value that was computed from the caller makes the response depend on the caller.
      if (stored.reads !== 0) holder.callerReads = (holder.callerReads ?? 0) | stored.reads
      return stored.value as T
    },
  })
}

/** A stored value, in a linked list, because searching a short list is faster than creating a map. */
export interface StoredValue {
  readonly key: object
  value: unknown
  /** The caller access when it was set. */
  reads: number
  readonly next: StoredValue | undefined
}

interface ValueHolder {
  values?: StoredValue | undefined
  callerReads?: number
}

function find({ values }: ValueHolder, key: object): StoredValue | undefined {
  let stored = values
  while (stored !== undefined && stored.key !== key) stored = stored.next
  return stored
}
