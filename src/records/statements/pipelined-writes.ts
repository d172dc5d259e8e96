/** Several writes of a request that are sent without waiting for each response. */
import type { ClientWriting, Engine, Runner } from '../../engines/contract/engine.js'
import type { Transactions } from './transactions.js'

/** Runs work whose single statement, sent before it returns, becomes part of the sequence. */
export type RunInSequence = <T>(work: () => T) => T

/** Sends several writes without waiting for each response. The database runs them in order. */
export class PipelinedWrites {
  /** The runner of the work that runs in a sequence now. */
  runner: Runner | undefined = undefined
  readonly #engine: Engine
  readonly #transactions: Pick<Transactions, 'current' | 'needsTransaction'>

  constructor(engine: Engine, transactions: Pick<Transactions, 'current' | 'needsTransaction'>) {
    this.#engine = engine
    this.#transactions = transactions
  }

  /**
   * Opens a sequence, and sends it when `fill` returns. Does nothing in a transaction, and on engines that cannot run
   * statements in order.
   *
   * @param fill adds the writes
   * @param request a client's request; nothing more is stored after its timeout
   */
  async send(fill: (run: RunInSequence) => void, request?: ClientWriting): Promise<void> {
    const { inOrder } = this.#engine.requests
    if (inOrder === undefined || this.#transactions.current() !== undefined) return
    if (this.#transactions.needsTransaction(request)) return
    await inOrder((runner) => {
      fill((work) => this.#runIn(runner, work))
    }, request)
  }

  #runIn<T>(runner: Runner, work: () => T): T {
    this.runner = runner
    try {
      return work()
    } finally {
      this.runner = undefined
    }
  }
}
