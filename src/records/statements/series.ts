/**
 * Writes of one operation in a line: each is given to the database without waiting for the answer of the one before, and the
 * database runs them in this order. Only for work whose one statement is given at once.
 */
import type { Engine, Runner } from '../engines/engine.js'
import type { OrderedRunner } from '../engines/ordered-runner.js'
import type { Transactions } from './transactions.js'

/** Where the statements go that are given at this moment, where that is not the engine. */
export class Line {
  runner: Runner | undefined = undefined
  readonly #engine: Engine
  readonly #transactions: Pick<Transactions, 'current'>

  constructor(engine: Engine, transactions: Pick<Transactions, 'current'>) {
    this.#engine = engine
    this.#transactions = transactions
  }

  /** @returns `undefined` in a transaction, and where the engine has no line: its statements run at once, or it cannot */
  async open(): Promise<Series | undefined> {
    if (this.#transactions.current() !== undefined) return undefined
    const runner = await this.#engine.inOrder?.()
    return runner && new Series(this, runner)
  }
}

export class Series {
  readonly #line: Line
  readonly #runner: OrderedRunner

  constructor(line: Line, runner: OrderedRunner) {
    this.#line = line
    this.#runner = runner
  }

  /** What is given before it returns stands in the line. */
  run<T>(work: () => T): T {
    this.#line.runner = this.#runner
    try {
      return work()
    } finally {
      this.#line.runner = undefined
    }
  }

  end(): void {
    this.#runner.end()
  }
}
