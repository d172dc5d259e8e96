/**
 * Time limits for requests, checked by one shared clock, because a timer for each request would cost more. The clock
 * ticks at a quarter of the shortest limit: no request ends too early, or more than two ticks too late.
 */
import { LinkedList, type ListItem } from '../core/collections.js'
import { HttpError } from '../errors/http-error.js'
import { timeoutRefusal } from '../http/refusals.js'
import type { ServerRequest } from '../http/server-request.js'

/** A request that waits for its body, a step or its handler. */
export interface Waiting<Run> extends ListItem<Waiting<Run>> {
  readonly request: ServerRequest
  /** Passed to the common `expire`. */
  readonly run: Run | undefined
  /** Milliseconds, on the clock of `Deadlines`. */
  until: number
  /** Called instead of the common `expire`. Must not throw. */
  readonly expire: (() => void) | undefined
}

/**
 * Ends a request whose time is over, and stops its writes. If a write could not be stopped, the handler gets a grace
 * period for its response, because 503 means that nothing was done.
 *
 * @param fail responds with the time-out
 */
export function stopInTime<Run>(
  request: ServerRequest,
  deadlines: Deadlines<Run>,
  fail: (error: HttpError) => void,
): void {
  const error = timeoutError(request)
  let isKnown = false
  const waiting = deadlines.wait(request, undefined, grace, () => {
    if (request.answered) return
    if (!isKnown) request.log.warn({}, unknownOutcome)
    fail(error)
  })
  request.stop((isDone) => {
    isKnown = true
    if (isDone) return
    deadlines.done(waiting)
    fail(error)
  })
}

const unknownOutcome =
  'a request got 503 because of its time limit while a write was running: the outcome of the write is unknown'

/** Returns 408 if the body does not arrive, which the client causes. Any other delay is the server's. */
export function timeoutError({ receivedBody }: ServerRequest): HttpError {
  return receivedBody?.timeLimit === undefined
    ? timeoutRefusal()
    : new HttpError(408, 'The body did not arrive in time.')
}

/**
 * Milliseconds of grace: for interceptors around a time-out, and for handlers whose write succeeded or may have
 * succeeded.
 */
export const grace = 1000

const shortestTick = 5
const longestTick = 1000

/** @typeParam Run what a request waits in, for `expire` */
export class Deadlines<Run> {
  readonly #waiting = new LinkedList<Waiting<Run>>()
  readonly #tick: number
  readonly #expire: (waiting: Waiting<Run>) => void
  #timer: NodeJS.Timeout | undefined
  #now = 0

  /**
   * @param shortest the shortest limit in use, in milliseconds
   * @param expire called once for each request that waited too long. Must not throw
   */
  constructor(shortest: number, expire: (waiting: Waiting<Run>) => void) {
    this.#tick = Math.min(longestTick, Math.max(shortestTick, Math.floor(shortest / 4)))
    this.#expire = expire
  }

  /** @returns the object to pass to `done` when the wait is over */
  wait(
    request: ServerRequest,
    run: Run | undefined,
    milliseconds: number,
    expire?: () => void,
  ): Waiting<Run> {
    if (this.#timer === undefined) this.#start()
    // The clock may lag by up to one tick.
    const waiting: Waiting<Run> = {
      request,
      run,
      until: this.#now + this.#tick + milliseconds,
      expire,
      previous: undefined,
      next: undefined,
      isListed: false,
    }
    this.#waiting.add(waiting)
    return waiting
  }

  /** Milliseconds until it expires. */
  remaining({ until }: Waiting<Run>): number {
    return Math.max(0, until - this.#tick - this.#now)
  }

  /** Sets a new time limit, counted from now. */
  extend(waiting: Waiting<Run>, milliseconds: number): void {
    waiting.until = this.#now + this.#tick + milliseconds
  }

  done(waiting: Waiting<Run>): void {
    this.#waiting.delete(waiting)
  }

  /** Starts the clock. It runs only while a request waits, and never keeps the process alive. */
  #start(): void {
    this.#now = performance.now()
    this.#timer = setInterval(() => {
      this.#sweep()
    }, this.#tick).unref()
  }

  #sweep(): void {
    this.#now = performance.now()
    if (this.#waiting.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    for (const waiting of this.#waiting.toArray()) {
      if (waiting.until > this.#now || !waiting.isListed) continue
      this.#waiting.delete(waiting)
      if (waiting.expire === undefined) this.#expire(waiting)
      else waiting.expire()
    }
  }
}
