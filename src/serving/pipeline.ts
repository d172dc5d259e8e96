/**
 * Runs the steps of a route for a request, up to its response:
 *
 *   before (gate, body, session, checks) → handler → shape → after (session, token) → response
 *
 * Only a step or a handler that returns a promise is awaited. An interceptor before the gate or before the body takes
 * the place of the handler. Its `next()` runs the rest of the route in the same way, and gives it the response, not yet
 * sent. The steps of a route are chosen in `serve-route.ts`.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import type { Next } from '../extensions/interceptor.js'
import { onAccept } from '../http/cache-headers.js'
import { HeaderList } from '../http/header-list.js'
import type { Responder } from '../http/responder.js'
import { invokeScheduled } from '../http/response-body.js'
import { discardResult, releaseUnsentStreams, rememberStream } from '../http/result.js'
import { PreparedResponse, type RouteResponse } from '../http/route-response.js'
import type { ServerRequest } from '../http/server-request.js'
import { runInRequest } from './current-request.js'
import { Deadlines, stopInTime, timeoutError, type Waiting } from './deadlines.js'
import { Interception } from './interception.js'
import { RouteRun, type OuterInterceptor, type ServedRoute } from './served-route.js'

/** For interceptors whose request needs no response any more. It is never sent. */
const unsentResponse: RouteResponse = new PreparedResponse(503, new HeaderList(), null, 0)

export class Pipeline {
  /** True while the application closes. Every response then closes its connection. */
  isDraining = false
  readonly #responder: Responder
  readonly #deadlines: Deadlines<RouteRun>

  /** @param shortestTime the shortest time limit of all routes, in milliseconds */
  constructor(responder: Responder, shortestTime: number) {
    this.#responder = responder
    this.#deadlines = new Deadlines(shortestTime, (waiting) => {
      this.#expire(waiting)
    })
  }

  /** Serves a request by a route. Never throws. */
  start(request: ServerRequest, route: ServedRoute): void {
    request.matchedRoute = route
    if (route.headers !== undefined) request.response.addHeaders(route.headers)
    if (route.hasLiveQueries) request.response.varyOn(onAccept)
    runInRequest(request, this.#run, route.toClient, 0)
  }

  /** Responds to a request with an error, without further steps. Never throws. */
  fail(request: ServerRequest, error: unknown): void {
    if (!request.beginResponse()) return
    if (this.isDraining) request.addHeader('Connection', 'close')
    if (request.response.streams !== undefined) releaseUnsentStreams(request, undefined)
    this.#responder.fail(request, error)
  }

  #send(request: ServerRequest, route: ServedRoute, result: unknown): void {
    if (!request.beginResponse()) {
      discardResult(result)
      return
    }
    if (this.isDraining) request.addHeader('Connection', 'close')
    if (request.response.streams !== undefined) releaseUnsentStreams(request, result)
    this.#responder.send(request, result, route.rule)
  }

  /** Continues with the step `from`. */
  readonly #run = (request: ServerRequest, run: RouteRun, from: number): void => {
    const { before, interceptor } = run.route
    try {
      for (let index = from; index < before.length; index++) {
        const pending = before[index]?.(request)
        if (pending !== undefined) {
          this.#waitForStep(pending, request, run, index + 1)
          return
        }
      }
      if (interceptor !== undefined) {
        this.#intercept(request, run, interceptor)
        return
      }
      const result = invokeScheduled(run.route, request)
      if (isThenable(result)) this.#waitForHandler(result, request, run)
      else this.#finish(request, run, result)
    } catch (error) {
      this.#failStep(request, run, error)
    }
  }

  #waitForStep(pending: Promise<void>, request: ServerRequest, run: RouteRun, next: number): void {
    const waiting = this.#startLimit(request, run)
    pending.then(
      () => {
        this.#endLimit(run, waiting)
        if (request.answered || request.outgoing.destroyed) this.#abandon(request, run)
        else if (run.isOpen) runInRequest(request, this.#run, run, next)
      },
      (error: unknown) => {
        this.#endLimit(run, waiting)
        this.#failStep(request, run, error)
      },
    )
  }

  #waitForHandler(result: PromiseLike<unknown>, request: ServerRequest, run: RouteRun): void {
    const waiting = this.#startLimit(request, run)
    result.then(
      (value) => {
        this.#endLimit(run, waiting)
        this.#finish(request, run, value)
      },
      (error: unknown) => {
        this.#endLimit(run, waiting)
        this.#failStep(request, run, error)
      },
    )
  }

  /** Limits the time of a promise. Interceptors share one limit with everything inside them, except the body. */
  #startLimit(request: ServerRequest, run: RouteRun): Waiting<RouteRun> | undefined {
    const { route, interception } = run
    const bodyTime = request.receivedBody?.timeLimit
    if (interception === undefined)
      return this.#deadlines.wait(request, run, bodyTime ?? route.timeout)
    if (bodyTime !== undefined) interception.waitForBody(bodyTime)
    return undefined
  }

  #endLimit(run: RouteRun, waiting: Waiting<RouteRun> | undefined): void {
    if (waiting !== undefined) this.#deadlines.done(waiting)
    else run.interception?.bodyArrived()
  }

  #expire({ request, run }: Waiting<RouteRun>): void {
    if (run === undefined) return
    stopInTime(request, this.#deadlines, (error) => {
      this.#fail(request, run, error)
    })
  }

  /** The handler has returned. */
  #finish(request: ServerRequest, run: RouteRun, result: unknown): void {
    if (!run.isOpen || request.phase !== 'handling') {
      discardResult(result)
      this.#abandon(request, run)
      return
    }
    try {
      if (run.interception !== undefined) rememberStream(request, result)
      const { shape, after } = run.route
      const shaped = shape === undefined ? result : shape(result)
      if (after.length === 0) this.#respond(request, run, shaped)
      else
        this.#runAfter(request, run, () => {
          this.#respond(request, run, shaped)
        })
    } catch (error) {
      this.#fail(request, run, error)
    }
  }

  /** A step or the handler has failed. Its error is too late if the time-out is the outcome already. */
  #failStep(request: ServerRequest, run: RouteRun, error: unknown): void {
    if (request.phase === 'handling') this.#fail(request, run, error)
    else this.#abandon(request, run)
  }

  /** Responds with an error, after the steps after the handler. */
  #fail(request: ServerRequest, run: RouteRun, cause: unknown): void {
    if (!run.isOpen || request.answered) {
      this.#abandon(request, run)
      return
    }
    const error = request.isTimedOut ? timeoutError(request) : cause
    if (run.route.after.length === 0 || request.phase === 'finishing') {
      this.#respondFailure(request, run, error)
      return
    }
    this.#runAfter(request, run, () => {
      this.#respondFailure(request, run, error)
    })
  }

  /** Runs the steps after the handler once, then `done`. If a step fails, its error becomes the response. */
  #runAfter(request: ServerRequest, run: RouteRun, done: () => void, from = 0): void {
    const { after } = run.route
    request.beginFinish()
    try {
      for (let index = from; index < after.length; index++) {
        const pending = after[index]?.(request)
        if (pending === undefined) continue
        const waiting = this.#startLimit(request, run)
        pending.then(
          () => {
            this.#endLimit(run, waiting)
            this.#runAfter(request, run, done, index + 1)
          },
          (error: unknown) => {
            this.#endLimit(run, waiting)
            this.#respondFailure(request, run, error)
          },
        )
        return
      }
      done()
    } catch (error) {
      this.#respondFailure(request, run, error)
    }
  }

  #respond(request: ServerRequest, run: RouteRun, result: unknown): void {
    if (run.interception === undefined) this.#send(request, run.route, result)
    else this.#deliver(request, run, this.#responder.prepare(request, result, run.route.rule))
  }

  #respondFailure(request: ServerRequest, run: RouteRun, error: unknown): void {
    if (run.resolve !== undefined)
      this.#deliver(request, run, this.#responder.prepareFailure(request, error))
    else {
      run.interception?.end()
      this.fail(request, error)
    }
  }

  #intercept(
    request: ServerRequest,
    outer: RouteRun,
    { intercept, inside }: OuterInterceptor,
  ): void {
    const interception = outer.interception ?? this.#beginInterception(request, outer.route)
    const run = outer.interception === undefined ? new RouteRun(outer.route, interception) : outer
    let running: Promise<RouteResponse> | undefined
    const next = (): Promise<RouteResponse> =>
      (running ??= this.#runInside(request, inside, interception))
    const finish = (result: unknown): void => {
      this.#finishInterceptor(request, run, result, running !== undefined)
    }
    try {
      const result = intercept(request, next as Next)
      if (isThenable(result))
        result.then(finish, (error: unknown) => {
          this.#fail(request, run, error)
        })
      else finish(result)
    } catch (error) {
      this.#fail(request, run, error)
    }
  }

  #beginInterception(request: ServerRequest, { timeout }: ServedRoute): Interception<RouteRun> {
    return new Interception({
      request,
      deadlines: this.#deadlines,
      timeout,
      fail: (error, run) => {
        if (run === undefined) this.fail(request, error)
        else this.#fail(request, run, error)
      },
    })
  }

  /** `next()` of an interceptor. */
  #runInside(
    request: ServerRequest,
    inside: ServedRoute,
    interception: Interception<RouteRun>,
  ): Promise<RouteResponse> {
    // A handler that has not started does not start for a client that has left.
    if (request.isTimedOut || request.answered || request.outgoing.destroyed)
      return Promise.resolve(unsentResponse)
    return new Promise((resolve) => {
      const run = new RouteRun(inside, interception, resolve)
      interception.add(run)
      runInRequest(request, this.#run, run, 0)
    })
  }

  /** @param isAround whether it has called `next()` */
  #finishInterceptor(
    request: ServerRequest,
    run: RouteRun,
    result: unknown,
    isAround: boolean,
  ): void {
    if (result instanceof PreparedResponse) this.#deliver(request, run, result)
    else if (isAround || request.phase !== 'handling') this.#respond(request, run, result)
    else
      this.#runAfter(request, run, () => {
        this.#respond(request, run, result)
      })
  }

  /** Gives a response to the interceptor that waits for it, or sends the response of the outermost interceptor. */
  #deliver(request: ServerRequest, run: RouteRun, response: MaybePromise<RouteResponse>): void {
    if (isThenable(response)) {
      void response.then((prepared) => {
        this.#deliver(request, run, prepared)
      })
    } else if (run.resolve === undefined) {
      run.interception?.end()
      this.#send(request, run.route, response)
    } else {
      rememberStream(request, response)
      if (run.isOpen) this.#resolve(run, response)
      else discardResult(response)
    }
  }

  /** Ends the wait of an interceptor inside a request that has its response, or whose client has left. */
  #abandon(request: ServerRequest, run: RouteRun): void {
    if (request.answered || request.outgoing.destroyed) this.#resolve(run, unsentResponse)
  }

  #resolve(run: RouteRun, response: RouteResponse): void {
    if (run.resolve === undefined || !run.isOpen) return
    run.isOpen = false
    run.interception?.remove(run)
    run.resolve(response)
  }
}
