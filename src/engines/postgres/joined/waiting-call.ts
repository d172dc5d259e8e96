/** A call that waits for others of its statement, and then is on its way together with some. */
import type { Row, Runner } from '../../contract/engine.js'
import { EngineFault } from '../../contract/engine-fault.js'

/** Who calls: a request, or the program itself. */
export interface Caller {
  /** Runs a statement for this caller alone. */
  readonly runner: Runner
  /** True for a request, which may leave before its answer is there. */
  readonly mayLeave: boolean
  /** It has left. */
  readonly isGone: boolean
}

/** Calls that are on their way together. */
export interface Group {
  readonly calls: readonly WaitingCall[]
  /** The same, those beside each other that have one answer. */
  readonly alike: readonly (readonly WaitingCall[])[]
  /** How many somebody waits for. */
  left: number
  /** Ends the statement on the server; absent where nobody may leave. */
  end: (() => void) | undefined
}

export class WaitingCall {
  readonly values: readonly unknown[]
  readonly caller: Caller
  /** It was answered, or nobody waits for it any more. */
  isOver = false
  group: Group | undefined
  readonly #resolve: (rows: readonly Row[]) => void
  readonly #reject: (error: unknown) => void

  constructor(
    values: readonly unknown[],
    caller: Caller,
    resolve: (rows: readonly Row[]) => void,
    reject: (error: unknown) => void,
  ) {
    this.values = values
    this.caller = caller
    this.#resolve = resolve
    this.#reject = reject
  }

  answer(rows: readonly Row[]): void {
    if (this.isOver) return
    this.isOver = true
    this.#resolve(rows)
  }

  refuse(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.#reject(error)
  }

  /** Does not wait any longer where the caller has gone. What others wait for goes on. */
  look(): void {
    if (this.isOver || !this.caller.isGone) return
    this.refuse(noLongerAsked())
    const { group } = this
    if (group === undefined) return
    group.left--
    if (group.left === 0) group.end?.()
  }
}

function noLongerAsked(): EngineFault {
  return new EngineFault('other', 'The request was answered, or its client has gone.')
}
