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
  const values = new WeakMap<HttpRequest, T>()
  return Object.freeze({
    name,
    set: (request: HttpRequest, value: T): void => {
      values.set(request, value)
    },
    get: (request: HttpRequest): T | undefined => values.get(request),
  })
}
