/**
 * The current request, for code far from the handler: data of a request without request scopes.
 *
 * Following a request through promises costs a tenth to a quarter of the throughput of a small route (on Node 20 and
 * 22 AsyncLocalStorage turns on Node's promise hooks), so it is done only for applications that ask for it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { HttpRequest } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import { isNoted, noteRequest } from '../records/table-reads.js'

const storage = new AsyncLocalStorage<HttpRequest>()
let following = false
let synchronous: HttpRequest | undefined
let warned = false

/**
 * The request that is being served.
 *
 * Works until the handler first waits. Behind an `await` it works in applications with `requestContext: true`, in
 * `bootstrap` or in one of their modules.
 *
 * @returns `undefined` outside a request
 */
export function currentRequest(): HttpRequest | undefined {
  const request = following ? storage.getStore() : synchronous
  if (request !== undefined) return request
  noteRequest()
  if (!following && !warned && !isNoted()) {
    warned = true
    process.emitWarning(
      'currentRequest() was called outside of a request, or behind an await in an application that does not follow ' +
        'requests through promises. For the latter, set requestContext: true in @Module or bootstrap.',
    )
  }
  return undefined
}

/** `GET /lamps/<id:int>`: the route of the request that is being served, where that is known at this moment. */
export function servedRoute(): string | undefined {
  const route = (following ? storage.getStore() : synchronous)?.route
  return route && `${route.method} ${route.path}`
}

/** From now on requests are followed through promises, in the whole process. */
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

/** Runs work of a request once more, outside of its processing, so that `currentRequest()` returns the request. */
export function againInRequest<R>(request: ServerRequest, work: (request: ServerRequest) => R): R {
  return following ? storage.run(request, work, request) : callInRequest(request, work)
}

/**
 * Runs a part of a request's processing, also after a wait, so that `currentRequest()` returns the request until the
 * next wait.
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
