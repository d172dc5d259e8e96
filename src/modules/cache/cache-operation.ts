/**
 * `@CacheFor` on root fields of GraphQL: a query is cached as a whole, if all of its root fields have a time, for
 * callers without a token and a cookie.
 */
import {
  requestedOperation,
  requestValue,
  type RouteResponse,
  type RequestedOperation,
  type HttpRequest,
} from '../../index.js'

/** Set by the first root field, which keeps the answer for all of them. */
const isTaken = requestValue<true>('CacheFor')

/** @returns the operation, if its answer may be shared with other callers */
export function takeOperation(request: HttpRequest): RequestedOperation | undefined {
  const asked = requestedOperation.get(request)
  if (asked?.kind !== 'query' || isTaken.get(request) === true) return undefined
  isTaken.set(request, true)
  return request.auth === undefined && request.headers.cookie === undefined ? asked : undefined
}

/** All parts of a request that the answer depends on. */
export function operationKey(
  { path, method, headers }: HttpRequest,
  asked: RequestedOperation,
): string {
  const { text, name, variables } = asked
  return JSON.stringify(['graphql', path, method, headers.accept, text, name, variables])
}

/** True if nothing in the operation failed. */
export function isComplete({ body }: RouteResponse): boolean {
  return typeof body === 'string' && !('errors' in (JSON.parse(body) as object))
}
