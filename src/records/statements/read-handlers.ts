/**
 * Handlers of GETs. They promise to change nothing, and following the promises of each request would cost a tenth of a small
 * route. So those of a handler's first requests are followed, and of all from then on if one of them changes something. Where
 * none does, what is changed in the turn in which a handler begins belongs to its request all the same; and once something is
 * changed later, while it runs and for nobody that is known, it is followed again.
 */
import type { MaybePromise } from '../../core/maybe-promise.js'
import { clientWritesOf } from '../../engines/client-writes.js'
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
  /** The answer has begun. */
  readonly answered?: boolean
}

/** Runs a request's work. @param onChange called for each change */
type RunFor = <R>(request: ClientRequest, work: () => R, onChange?: () => void) => R

/** Requests that are followed to see whether a handler changes something. */
const firstRequests = 20

interface ReadHandler {
  /** Its last request that nobody followed: while that has no answer of the handler, it may run. */
  last: ClientRequest | undefined
  /** So many of its requests are still followed to learn of it. */
  first: number
  /** It has changed something. */
  isFollowed: boolean
}

/** The part of the database that is needed here. */
interface Requests {
  /** The request whose work begins in this turn. */
  readonly served: ClientWriting | undefined
  /** Runs work in the turn in which it begins. */
  readonly serve: RunFor
  /** Runs work and follows its promises. */
  readonly runForRequest: RunFor
}

/** Runs what belongs to no transaction, and to no request that is followed. */
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
    const { served } = this.#requests
    if (served !== undefined)
      return clientWritesOf(this.#engine, served).run(statement, values, resultForm)
    this.changed()
    return this.#engine.run(statement, values, resultForm)
  }

  /** Something is changed for nobody that is known. */
  changed(): void {
    for (const handler of this.#handlers) {
      const { last } = handler
      if (last !== undefined && (last.answered === false || last.isTimedOut))
        handler.isFollowed = true
    }
  }

  /**
   * @param usesDatabase false if the handler is not expected to write: not even its first requests are followed
   * @returns what runs the requests of one more handler
   */
  add(usesDatabase: boolean): RunFor {
    const first = usesDatabase ? firstRequests : 0
    const handler: ReadHandler = { last: undefined, first, isFollowed: false }
    this.#handlers.push(handler)
    const follow = (): void => {
      handler.isFollowed = true
    }
    return (request, work) => {
      if (handler.isFollowed) return this.#requests.runForRequest(request, work)
      if (handler.first > 0) {
        handler.first--
        return this.#requests.runForRequest(request, work, follow)
      }
      handler.last = request
      return this.#requests.serve(request, work)
    }
  }
}
