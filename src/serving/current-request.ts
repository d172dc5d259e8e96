/**
 * The current request, for code that does not get the request as an argument.
 *
 * Following a request through promises costs a tenth to a quarter of the throughput of a small route, because
 * AsyncLocalStorage turns on promise hooks on Node 20 and 22. Therefore it is enabled only on demand.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { HttpRequest } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import { isTracking, trackRequest } from '../records/table-reads.js'

const storage = new AsyncLocalStorage<HttpRequest>()
let following = false
let synchronous: HttpRequest | undefined
let warned = false

/**
 * Returns the request that is being served.
 *
 * Works until the first `await` of the handler. To use it after an `await`, set `requestContext: true` in `bootstrap`
 * or in a module.
 *
 * @returns `undefined` outside a request
 */
export function currentRequest(): HttpRequest | undefined {
  const request = following ? storage.getStore() : synchronous
  if (request !== undefined) return request
  trackRequest()
  if (!following && !warned && !isTracking()) {
    warned = true
    process.emitWarning(
      'currentRequest() was called outside of a request, or behind an await in an application that does not follow ' +
        'requests through promises. For the latter, set requestContext: true in @Module or bootstrap.',
    )
  }
  return undefined
}

/** Returns the route of the request that is being served, such as `GET /lamps/<id:int>`, if it is known at this time. */
export function servedRoute(): string | undefined {
  const route = (following ? storage.getStore() : synchronous)?.route
  return route && `${route.method} ${route.path}`
}

/** Enables following requests through promises, for the whole process. */
export function followRequests(): void {
  following = true
}

/**
 * Calls `work` so that `currentRequest()` returns `request` in it. The other arguments are passed on, so that no
 * closure is needed.
 */
export function runInRequest<A, B>(
  request: ServerRequest,
  work: (request: ServerRequest, a: A, b: B) => void,
  a: A,
  b: B,
): void {
  if (following) {
    storage.run(request, work, request, a, b)
    return
  }
  // Requests may be nested: `app.handle` inside a handler.
  const outer = synchronous
  synchronous = request
  try {
    work(request, a, b)
  } finally {
    synchronous = outer
  }
}

/** Runs more work of a request after its pipeline, such as a run of a live query, with it as the current request. */
export function againInRequest<R>(request: ServerRequest, work: (request: ServerRequest) => R): R {
  return following ? storage.run(request, work, request) : callInRequest(request, work)
}

/**
 * Runs a part of a request's processing, possibly after an `await`. `currentRequest()` returns the request until the
 * next `await`.
 */
export function callInRequest<R>(request: ServerRequest, work: (request: ServerRequest) => R): R {
  if (following || synchronous === request) return work(request)
  const outer = synchronous
  synchronous = request
  try {
    return work(request)
  } finally {
    synchronous = outer
  }
}
