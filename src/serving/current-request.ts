/**
 * The request that running code belongs to: for code that does not get the request as an argument, and for reports of
 * floating promises.
 *
 * Following a request through promises costs a tenth to a quarter of the throughput of a small route, because
 * AsyncLocalStorage turns on promise hooks on Node 20 and 22. Therefore it is enabled only on demand.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { provideServedRequest, requestOfOtherCopy } from '../errors/copies.js'
import type { Log } from '../core/log.js'
import type { HttpRequest } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import { isTracking, trackRequest } from '../records/tracked-reads.js'

const storage = new AsyncLocalStorage<HttpRequest>()
let following = false
let synchronous: HttpRequest | undefined
let warned = false

provideServedRequest(findRequest)

function findRequest(): HttpRequest | undefined {
  return following ? storage.getStore() : synchronous
}

/**
 * Returns the request that is being served.
 *
 * Works until the first `await` of the handler. To use it after an `await`, set `requestContext: true` in `bootstrap`
 * or in a module.
 *
 * @returns `undefined` outside a request
 */
export function currentRequest(): HttpRequest | undefined {
  const request = findRequest() ?? (requestOfOtherCopy() as HttpRequest | undefined)
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
  const route = findRequest()?.route
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

/** The route or job whose promises are followed. */
const running = new AsyncLocalStorage<string>()

/** The route or job that started the running code; `undefined` outside of them, or if promises are not followed. */
export function routeOfPromise(): string | undefined {
  return running.getStore()
}

export interface PromiseWatch {
  readonly log: Log
  /** Whether to follow promises always, or only for the first handlers of the process. Following reduces throughput. */
  readonly follows: 'always' | 'first'
}

/** Maximum requests per process to follow outside production and development. Further requests cost nothing. */
const maxFollowed = 1_000
let followed = 0

/** @param name name of the work for the log, such as a route or a job */
export function followPromises<Given, Result>(
  work: (input: Given) => Result,
  name: string,
  { follows }: Pick<PromiseWatch, 'follows'>,
): (input: Given) => Result {
  if (follows === 'always') return (input) => running.run(name, work, input)
  return (input) => {
    if (followed >= maxFollowed) return work(input)
    if (++followed < maxFollowed) return running.run(name, work, input)
    // Promises regain full speed, as if none had been followed.
    running.disable()
    return work(input)
  }
}
