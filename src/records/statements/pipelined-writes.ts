/**
 * Sends several writes in a row without waiting for each answer; the database runs them in this order. Only for work
 * whose single statement is sent at once.
 */
import type { ClientWriting, Engine, Runner, OrderedRunner } from '../../engines/contract/engine.js'
import type { Transactions } from './transactions.js'

/** Where statements go that are sent at this moment, instead of to the engine. */
export class Line {
  runner: Runner | undefined = undefined
  readonly #engine: Engine
  readonly #transactions: Pick<Transactions, 'current' | 'needsTransaction'>

  constructor(engine: Engine, transactions: Pick<Transactions, 'current' | 'needsTransaction'>) {
    this.#engine = engine
    this.#transactions = transactions
  }

  /**
   * @param request of a client: nothing more is done once its time is over
   * @returns `undefined` in a transaction, and for engines without such a line: their statements run at once, or they
   * cannot
   */
  async open(request?: ClientWriting): Promise<Series | undefined> {
    if (this.#transactions.current() !== undefined) return undefined
    if (this.#transactions.needsTransaction(request)) return undefined
    const runner = await this.#engine.inOrder?.(request)
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

  /** Statements that the work sends before it returns are sent in the line. */
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
