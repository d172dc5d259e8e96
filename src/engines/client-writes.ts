/**
 * The writes of one client's request on an engine that cannot cancel a statement. A write that still waits when the
 * request times out is never sent. A write that was sent is awaited.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import type {
  ClientWriting,
  PendingWrite,
  Results,
  Runner,
  Statement,
  Values,
  ResultKind,
} from './contract/engine.js'
import { EngineError } from './contract/engine-error.js'
import { isWrite } from './contract/statement.js'

/**
 * Runs work when it is its turn.
 *
 * @param isOver called before work that had to wait begins; if it returns true, the work fails with
 * `requestTimeoutError`
 */
export type Schedule = <T>(
  work: () => MaybePromise<T>,
  writes: boolean,
  isOver?: () => boolean,
) => MaybePromise<T>

export class ClientWrites implements Runner {
  readonly #writing: ClientWriting
  readonly #inner: Runner
  readonly #schedule: Schedule

  /** @param inner runs statements immediately, outside the queue */
  constructor(writing: ClientWriting, inner: Runner, schedule: Schedule) {
    this.#writing = writing
    this.#inner = inner
    this.#schedule = schedule
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    const work = (): MaybePromise<Results[W]> => this.#inner.run(statement, values, resultKind)
    const writing = this.#writing
    if (!isWrite(statement)) return this.#schedule(work, false)
    if (writing.isTimedOut) throw requestTimeoutError()
    let hasStarted = false
    const running = this.#schedule(work, true, () => {
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

/** The error of a write after the timeout of its request. */
export function requestTimeoutError(): EngineError {
  return new EngineError(
    'other',
    'The time of the request is over: nothing is written for it any more.',
  )
}
