/**
 * The interceptors of one request that have called `next()`, and wait for the response of the steps inside them:
 *
 * ```
 * access log ─ next() ─▶ gate ─▶ limiter ─ next() ─▶ body, checks, handler, shape, session, token
 *        ◀────── RouteResponse ──────────◀────── RouteResponse ──────────┘
 * ```
 *
 * They share one time limit. When it is over, the innermost one gets the error, and the outer ones get a grace period
 * to pass it on.
 */
import type { HttpError } from '../errors/http-error.js'
import { timeoutRefusal } from '../http/refusals.js'
import type { ServerRequest } from '../http/server-request.js'
import { grace, stopInTime, type Deadlines, type Waiting } from './deadlines.js'

export interface InterceptionOptions<Run> {
  readonly request: ServerRequest
  readonly deadlines: Deadlines<Run>
  /** The time limit in milliseconds. */
  readonly timeout: number
  /** Responds with the time-out, to the client if no interceptor waits. */
  readonly fail: (error: HttpError, run: Run | undefined) => void
}

export class Interception<Run> {
  readonly #options: InterceptionOptions<Run>
  /** What the waiting interceptors wait for, from outside to inside. */
  readonly #runs: Run[] = []
  #limit: Waiting<Run>
  #remaining: number | undefined

  constructor(options: InterceptionOptions<Run>) {
    this.#options = options
    this.#limit = this.#watch(options.timeout)
  }

  add(run: Run): void {
    this.#runs.push(run)
  }

  remove(run: Run): void {
    const index = this.#runs.indexOf(run)
    if (index !== -1) this.#runs.splice(index, 1)
  }

  /** The body has its own time limit, apart from that of the interceptors and the handler. */
  waitForBody(milliseconds: number): void {
    const { deadlines } = this.#options
    this.#remaining = deadlines.remaining(this.#limit)
    deadlines.extend(this.#limit, milliseconds)
  }

  bodyArrived(): void {
    if (this.#remaining !== undefined) this.#options.deadlines.extend(this.#limit, this.#remaining)
    this.#remaining = undefined
  }

  /** The outermost interceptor has returned. */
  end(): void {
    this.#options.deadlines.done(this.#limit)
  }

  #watch(milliseconds: number): Waiting<Run> {
    const { request, deadlines } = this.#options
    return deadlines.wait(request, undefined, milliseconds, () => {
      if (request.isTimedOut) this.#expire(timeoutRefusal())
      else
        stopInTime(request, deadlines, (error) => {
          this.#expire(error)
        })
    })
  }

  #expire(error: HttpError): void {
    const { timeout, fail } = this.#options
    const innermost = this.#runs.pop()
    if (innermost !== undefined) this.#limit = this.#watch(Math.min(grace, timeout))
    fail(error, innermost)
  }
}
