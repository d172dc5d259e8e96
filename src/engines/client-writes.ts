/**
 * The changes of one client's request, on engines that cannot cancel a statement: what waits for its turn is not begun any
 * more once the request's time is over; what has begun is waited for.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import type { ClientWriting, PendingWrite } from './contract/request-context.js'
import type { Results, Engine, Runner, Statement, Values, ResultKind } from './contract/engine.js'
import { EngineError } from './contract/engine-error.js'
import { isWrite } from './contract/statement.js'

/** Runs work in its turn. @param isOver asked before work begins that had to wait: then it throws `requestTimeoutError` instead */
export type Schedule = <T>(
  work: () => MaybePromise<T>,
  writes: boolean,
  isOver?: () => boolean,
) => MaybePromise<T>

export class ClientWrites implements Runner {
  readonly #writing: ClientWriting
  readonly #inner: Runner
  readonly #inTurn: Schedule

  /** @param inner runs statements at once, whoever has the turn */
  constructor(writing: ClientWriting, inner: Runner, schedule: Schedule) {
    this.#writing = writing
    this.#inner = inner
    this.#inTurn = schedule
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    const work = (): MaybePromise<Results[W]> => this.#inner.run(statement, values, resultKind)
    const writing = this.#writing
    if (!isWrite(statement)) return this.#inTurn(work, false)
    if (writing.isTimedOut) throw requestTimeoutError()
    let hasStarted = false
    const running = this.#inTurn(work, true, () => {
      hasStarted = !writing.isTimedOut
      return writing.isTimedOut
    })
    if (!isThenable(running)) return running
    return new Promise((resolve, reject) => {
      const write: PendingWrite = {
        stop: () => {
          if (hasStarted) return
          writing.writeEnded(write, false)
          reject(requestTimeoutError())
        },
      }
      writing.writeStarted(write)
      running.then(
        (result) => {
          writing.writeEnded(write, true)
          resolve(result)
        },
        (error: unknown) => {
          writing.writeEnded(write, false)
          reject(error instanceof Error ? error : new Error(String(error)))
        },
      )
    })
  }
}

/** The runner of a request's changes on an engine. */
export function clientWritesOf(engine: Engine, writing: ClientWriting): Runner {
  return engine.clientWrites?.(writing) ?? new ClientWrites(writing, engine, runImmediately)
}

const runImmediately: Schedule = (work, _writes, isOver) => {
  isOver?.()
  return work()
}

/** Of changes for a request whose time is over. */
export function requestTimeoutError(): EngineError {
  return new EngineError(
    'other',
    'The time of the request is over: nothing is written for it any more.',
  )
}
