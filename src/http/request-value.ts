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
      const there = find(holder, key)
      const reads = holder.callerReads ?? 0
      if (there === undefined) holder.values = { key, value, reads, other: holder.values }
      else Object.assign(there, { value, reads })
    },
    get: (request: HttpRequest): T | undefined => {
      const holder = request as ValueHolder
      const kept = find(holder, key)
      if (kept === undefined) return undefined
      // What was made of the caller is the caller's.
      if (kept.reads !== 0) holder.callerReads = (holder.callerReads ?? 0) | kept.reads
      return kept.value as T
    },
  })
}

/** A value with its request. There are few: a list of them is searched faster than a map is made. */
export interface KeptValue {
  readonly key: object
  value: unknown
  /** What had been read of the caller when it was set. */
  reads: number
  readonly other: KeptValue | undefined
}

interface ValueHolder {
  values?: KeptValue | undefined
  callerReads?: number
}

function find({ values }: ValueHolder, key: object): KeptValue | undefined {
  let kept = values
  while (kept !== undefined && kept.key !== key) kept = kept.other
  return kept
}
