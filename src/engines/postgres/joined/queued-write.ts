/** A write that waits to go together with others of its statement, and how one goes by itself. */
import { lateFault } from '../../client-writes.js'
import type { ClientWriting, UnderWay } from '../../contract/client-writing.js'
import type { Row, Runner, Statement } from '../../contract/engine.js'

/** Rows in one statement. */
export const mostRows = 64

/** Who writes: a request, or the program itself. */
export interface WriteCaller {
  /** Runs a statement for this caller alone. */
  readonly runner: Runner
  /** Absent for the program. */
  readonly writing?: ClientWriting | undefined
}

interface Answer {
  resolve(rows: readonly Row[]): void
  reject(error: unknown): void
}

export class QueuedWrite implements UnderWay {
  readonly values: readonly unknown[]
  readonly keys: readonly string[]
  /** It was answered, or its request's time was over before it went. */
  isOver = false
  /** It is on its way, with others or by itself: who stops it then waits for what becomes of it. */
  hasGone = false
  readonly #caller: WriteCaller
  readonly #answer: Answer

  constructor(
    values: readonly unknown[],
    caller: WriteCaller,
    keys: readonly string[],
    answer: Answer,
  ) {
    this.values = values
    this.keys = keys
    this.#caller = caller
    this.#answer = answer
    caller.writing?.begun(this)
  }

  resolve(rows: readonly Row[]): void {
    this.#end(true)
    this.#answer.resolve(rows)
  }

  reject(error: unknown): void {
    this.#end(false)
    this.#answer.reject(error)
  }

  stop(): void {
    if (!this.hasGone) this.reject(lateFault())
  }

  /** @returns whether it was answered, and not refused */
  async runAlone(statement: Statement): Promise<boolean> {
    this.hasGone = true
    try {
      this.resolve(await this.#caller.runner.run(statement, this.values, 'rows'))
      return true
    } catch (error) {
      this.reject(error)
      return false
    }
  }

  #end(isDone: boolean): void {
    this.isOver = true
    this.#caller.writing?.ended(this, isDone)
  }
}
