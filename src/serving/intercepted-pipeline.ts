/**
 * Serves a route with interceptors before the gate or before the body. The steps are those of `dispatcher.ts`, nested:
 * `next()` gives an interceptor the response of the inner steps, not yet sent.
 *
 * ```
 * access log ─ next() ─▶ gate ─▶ limiter ─ next() ─▶ body, checks, handler, shape, session, token
 *        ◀────── RouteResponse ──────────◀────── RouteResponse ──────────┘
 * ```
 *
 * Only the dispatcher calls this, for routes that have a `pipeline`.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import { PreparedResponse, type RouteResponse } from '../http/route-response.js'
import { discard, rememberStream } from '../http/result.js'
import type { Responder } from '../http/responder.js'
import type { HttpError } from '../errors/http-error.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Intercept, Next } from '../extensions/interceptor.js'
import { callInRequest } from './current-request.js'
import { grace, stopInTime, timeoutError, type Deadlines, type Waiting } from './deadlines.js'
import { invokeScheduled } from '../http/response-body.js'
import type { PipelineEntry, ServedRoute } from './served-route.js'

export interface PipelineContext {
  readonly responder: Responder
  readonly deadlines: Deadlines
  /** Sends the response, unless one was sent already. */
  readonly send: (request: ServerRequest, route: ServedRoute, answer: RouteResponse) => void
  /** Responds to a time-out outside all interceptors. */
  readonly fail: (request: ServerRequest, error: unknown) => void
}

/** Runs the pipeline of a route with such interceptors. */
export function runInterceptedPipeline(
  request: ServerRequest,
  route: ServedRoute,
  context: PipelineContext,
): void {
  new InterceptedPipeline(request, route, context).begin()
}

/** An interceptor that waits for the steps inside it. */
interface WaitingInterceptor {
  readonly resolve: (answer: RouteResponse) => void
  /** False after it has received the time-out error. */
  open: boolean
}

/** A placeholder for requests that no longer wait for a response. It is never sent. */
const unsentResponse: RouteResponse = new PreparedResponse({
  status: 503,
  list: [],
  body: null,
  length: undefined,
  collected: { from: undefined, count: 0 },
})

class InterceptedPipeline {
  readonly #request: ServerRequest
  readonly #route: ServedRoute
  readonly #entries: readonly PipelineEntry[]
  readonly #context: PipelineContext
  /** The waiting interceptors, from outside to inside. */
  readonly #waitingInterceptors: WaitingInterceptor[] = []
  #waiting: Waiting

  constructor(request: ServerRequest, route: ServedRoute, context: PipelineContext) {
    this.#request = request
    this.#route = route
    this.#entries = route.pipeline ?? []
    this.#context = context
    this.#waiting = this.#watch(route.timeout)
  }

  begin(): void {
    void this.#run(0, undefined).then((answer) => {
      this.#context.deadlines.done(this.#waiting)
      this.#context.send(this.#request, this.#route, answer)
    })
  }

  /** Runs the steps from an index to the response. Never rejects. */
  async #run(from: number, inside: WaitingInterceptor | undefined): Promise<RouteResponse> {
    const request = this.#request
    const isOver = (): boolean => inside?.open === false || request.answered
    try {
      for (let index = from; index < this.#entries.length; index++) {
        const entry = this.#entries[index]
        if (entry === undefined) break
        if ('intercept' in entry) return await this.#intercept(entry.intercept, index + 1)
        const pending = callInRequest(request, entry.step)
        if (pending !== undefined) await this.#waitFor(pending)
        // A handler that has not started does not start for a client that has left.
        if (isOver() || request.outgoing.destroyed) return unsentResponse
      }
      const running = callInRequest(request, (outcome) => invokeScheduled(this.#route, outcome))
      const result = isThenable(running) ? await running : running
      rememberStream(request, result)
      if (isOver()) return unsentResponse
      const shaped = this.#route.shape === undefined ? result : this.#route.shape(result)
      const finishing = this.#finish()
      if (finishing !== undefined) await finishing
      const answer = this.#prepare(shaped)
      return isThenable(answer) ? await answer : answer
    } catch (error) {
      return isOver()
        ? unsentResponse
        : await this.#answerFailure(request.isTimedOut ? timeoutError(request) : error)
    }
  }

  async #intercept(intercept: Intercept, inside: number): Promise<RouteResponse> {
    let running: Promise<RouteResponse> | undefined
    const next = (): Promise<RouteResponse> => (running ??= this.#goInside(inside))
    const outcome = callInRequest(this.#request, (request) => intercept(request, next as Next))
    const result = isThenable(outcome) ? await outcome : outcome
    if (result instanceof PreparedResponse) return result
    if (running === undefined) await this.#finish()
    return await this.#prepare(result)
  }

  #goInside(from: number): Promise<RouteResponse> {
    const request = this.#request
    if (request.isTimedOut || request.answered) return Promise.resolve(unsentResponse)
    return new Promise((resolve) => {
      const inside: WaitingInterceptor = { resolve, open: true }
      this.#waitingInterceptors.push(inside)
      void this.#run(from, inside).then((answer) => {
        rememberStream(request, answer)
        if (!inside.open) {
          discard(answer)
          return
        }
        this.#waitingInterceptors.splice(this.#waitingInterceptors.indexOf(inside), 1)
        resolve(answer)
      })
    })
  }

  /** The body has its own time limit, apart from the handler's. */
  async #waitFor(pending: Promise<void>): Promise<void> {
    const { deadlines } = this.#context
    const request = this.#request
    if (request.bodyTime === undefined) {
      await pending
      return
    }
    const remaining = deadlines.remaining(this.#waiting)
    deadlines.extend(this.#waiting, request.bodyTime)
    try {
      await pending
    } finally {
      request.bodyTime = undefined
      deadlines.extend(this.#waiting, remaining)
    }
  }

  /** Runs the steps after the handler, once. */
  #finish(): Promise<void> | undefined {
    if (this.#request.finishing) return undefined
    this.#request.finishing = true
    return this.#route.after.length === 0 ? undefined : this.#runAfter()
  }

  async #runAfter(): Promise<void> {
    for (const step of this.#route.after) await callInRequest(this.#request, step)
  }

  #prepare(result: unknown): MaybePromise<RouteResponse> {
    return this.#context.responder.prepare(this.#request, result, this.#route.rule)
  }

  async #answerFailure(error: unknown): Promise<RouteResponse> {
    try {
      await this.#finish()
      return this.#context.responder.prepareFailure(this.#request, error)
    } catch (cause) {
      return this.#context.responder.prepareFailure(this.#request, cause)
    }
  }

  #watch(milliseconds: number): Waiting {
    return this.#context.deadlines.wait(this.#request, this.#route, milliseconds, () => {
      this.#stop()
    })
  }

  #stop(): void {
    const request = this.#request
    if (request.isTimedOut) this.#expire(timeoutError(request))
    else
      stopInTime({ request, route: this.#route }, this.#context.deadlines, (error) => {
        this.#expire(error)
      })
  }

  /** The innermost waiting interceptor gets the time-out error. The outer ones get a grace period to pass it on. */
  #expire(error: HttpError): void {
    const request = this.#request
    request.bodyTime = undefined
    const inside = this.#waitingInterceptors.pop()
    if (inside === undefined) {
      this.#context.fail(request, error)
      return
    }
    inside.open = false
    this.#waiting = this.#watch(Math.min(grace, this.#route.timeout))
    void this.#answerFailure(error).then(inside.resolve)
  }
}
