/**
 * Handlers of GET requests, which promise to change nothing. Tracking the promises of each request would cost a tenth
 * of a small route, so only a handler's first requests are tracked. If one of them changes something, all later
 * requests are tracked. Otherwise, only changes in the turn of the event loop in which a handler begins belong to its
 * request. If an unknown request changes something later while a handler runs, that handler is tracked again.
 */
import type { MaybePromise } from '../../core/maybe-promise.js'
import type {
  Results,
  ClientWriting,
  Engine,
  Runner,
  Statement,
  Values,
  ResultKind,
} from '../../engines/contract/engine.js'
import { isWrite, usesFrameworkTable } from '../../engines/contract/statement.js'

/** A client's request. */
interface ClientRequest extends ClientWriting {
  /** True after the response has begun. */
  readonly answered?: boolean
}

/** Runs a request's work. @param onChange called for each change */
type RunFor = <R>(request: ClientRequest, work: () => R, onChange?: () => void) => R

/** The number of requests that are tracked to see whether a handler changes something. */
const trackedRequests = 20

interface ReadHandler {
  /** The handler's last untracked request. The handler may still run until this request has a response. */
  last: ClientRequest | undefined
  /** The number of requests that are still tracked. */
  remaining: number
  /** True after the handler has changed something. */
  isTracked: boolean
}

/** The part of the database that this file needs. */
interface Requests {
  /** The request whose work begins in this turn of the event loop. */
  readonly startingRequest: ClientWriting | undefined
  /** Runs work in the turn in which it begins. */
  readonly serve: RunFor
  /** Runs work and follows its promises. */
  readonly runForRequest: RunFor
}

/** Runs statements that belong to no transaction and to no tracked request. */
export class ReadHandlers implements Runner {
  readonly #engine: Engine
  readonly #requests: Requests
  readonly #handlers: ReadHandler[] = []

  constructor(engine: Engine, requests: Requests) {
    this.#engine = engine
    this.#requests = requests
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (!isWrite(statement) || usesFrameworkTable(statement))
      return this.#engine.run(statement, values, resultForm)
    const { startingRequest } = this.#requests
    if (startingRequest !== undefined)
      return this.#engine.requests.writes(startingRequest).run(statement, values, resultForm)
    this.changed()
    return this.#engine.run(statement, values, resultForm)
  }

  /** Handles a change that belongs to no known request. */
  changed(): void {
    for (const handler of this.#handlers) {
      const { last } = handler
      if (last !== undefined && (last.answered === false || last.isTimedOut))
        handler.isTracked = true
    }
  }

  /**
   * @param usesDatabase false if the handler is not expected to write, so that not even its first requests are
   * tracked
   * @returns a function that runs the requests of a new handler
   */
  add(usesDatabase: boolean): RunFor {
    const remaining = usesDatabase ? trackedRequests : 0
    const handler: ReadHandler = { last: undefined, remaining, isTracked: false }
    this.#handlers.push(handler)
    const track = (): void => {
      handler.isTracked = true
    }
    return (request, work) => {
      if (handler.isTracked) return this.#requests.runForRequest(request, work)
      if (handler.remaining > 0) {
        handler.remaining--
        return this.#requests.runForRequest(request, work, track)
      }
      handler.last = request
      return this.#requests.serve(request, work)
    }
  }
}
