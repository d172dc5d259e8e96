/**
 * `@CacheFor` at root fields of GraphQL: a query is cached as a whole, if each of its root fields has a time, for
 * callers without a token and a cookie.
 */
import {
  askedOperation,
  requestValue,
  type Answer,
  type AskedOperation,
  type HttpRequest,
} from '../../index.js'

/** Of several root fields the first one to be called keeps the answer. */
const isTaken = requestValue<true>('CacheFor')

/** @returns the operation, where this caller of it may be answered as others were */
export function takeOperation(request: HttpRequest): AskedOperation | undefined {
  const asked = askedOperation.get(request)
  if (asked?.kind !== 'query' || isTaken.get(request) === true) return undefined
  isTaken.set(request, true)
  return request.auth === undefined && request.headers.cookie === undefined ? asked : undefined
}

/** Everything that makes one answer another. */
export function operationKey(
  { path, method, headers }: HttpRequest,
  asked: AskedOperation,
): string {
  const { text, name, variables } = asked
  return JSON.stringify(['graphql', path, method, headers.accept, text, name, variables])
}

/** True where nothing of the operation failed. */
export function isComplete({ body }: Answer): boolean {
  return typeof body === 'string' && !('errors' in (JSON.parse(body) as object))
}
