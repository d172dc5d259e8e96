/**
 * The changes of one client's request, on engines that cannot cancel a statement: what waits for its turn is not begun any
 * more once the request's time is over; what has begun is waited for.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import type { ClientWriting, UnderWay } from './contract/request-context.js'
import type { Answers, Engine, Runner, Statement, Values, Wanted } from './contract/engine.js'
import { EngineFault } from './contract/engine-error.js'
import { changes } from './contract/statement.js'

/** Runs work in its turn. @param isOver asked before work begins that had to wait: then it throws `lateFault` instead */
export type InTurn = <T>(
  work: () => MaybePromise<T>,
  writes: boolean,
  isOver?: () => boolean,
) => MaybePromise<T>

export class ClientWrites implements Runner {
  readonly #writing: ClientWriting
  readonly #inner: Runner
  readonly #inTurn: InTurn

  /** @param inner runs statements at once, whoever has the turn */
  constructor(writing: ClientWriting, inner: Runner, inTurn: InTurn) {
    this.#writing = writing
    this.#inner = inner
    this.#inTurn = inTurn
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): MaybePromise<Answers[W]> {
    const work = (): MaybePromise<Answers[W]> => this.#inner.run(statement, values, wanted)
    const writing = this.#writing
    if (!changes(statement)) return this.#inTurn(work, false)
    if (writing.late) throw lateFault()
    let hasBegun = false
    const answer = this.#inTurn(work, true, () => {
      hasBegun = !writing.late
      return writing.late
    })
    if (!isThenable(answer)) return answer
    return new Promise((resolve, reject) => {
      const write: UnderWay = {
        stop: () => {
          if (hasBegun) return
          writing.ended(write, false)
          reject(lateFault())
        },
      }
      writing.begun(write)
      answer.then(
        (result) => {
          writing.ended(write, true)
          resolve(result)
        },
        (error: unknown) => {
          writing.ended(write, false)
          reject(error instanceof Error ? error : new Error(String(error)))
        },
      )
    })
  }
}

/** The runner of a request's changes on an engine. */
export function writesOn(engine: Engine, writing: ClientWriting): Runner {
  return engine.clientWrites?.(writing) ?? new ClientWrites(writing, engine, atOnce)
}

const atOnce: InTurn = (work, _writes, isOver) => {
  isOver?.()
  return work()
}

/** Of changes for a request whose time is over. */
export function lateFault(): EngineFault {
  return new EngineFault(
    'other',
    'The time of the request is over: nothing is written for it any more.',
  )
}
