/** Several writes of a request that are sent without waiting for each response. */
import type { ClientWriting, Engine, Runner, OrderedRunner } from '../../engines/contract/engine.js'
import type { Transactions } from './transactions.js'

/**
 * Sends several writes without waiting for each response. The database runs them in order. Only for work that sends its
 * single statement synchronously: the statement becomes part of the open batch.
 */
export class PipelinedWrites {
  runner: Runner | undefined = undefined
  readonly #engine: Engine
  readonly #transactions: Pick<Transactions, 'current' | 'needsTransaction'>

  constructor(engine: Engine, transactions: Pick<Transactions, 'current' | 'needsTransaction'>) {
    this.#engine = engine
    this.#transactions = transactions
  }

  /**
   * @param request a client's request; nothing more is stored after its timeout
   * @returns `undefined` in a transaction, and for engines that do not support batches
   */
  async open(request?: ClientWriting): Promise<WritePipeline | undefined> {
    if (this.#transactions.current() !== undefined) return undefined
    if (this.#transactions.needsTransaction(request)) return undefined
    const runner = await this.#engine.inOrder?.(request)
    return runner && new WritePipeline(this, runner)
  }
}

class WritePipeline {
  readonly #owner: PipelinedWrites
  readonly #runner: OrderedRunner

  constructor(owner: PipelinedWrites, runner: OrderedRunner) {
    this.#owner = owner
    this.#runner = runner
  }

  /** Statements that the work sends synchronously become part of the batch. */
  run<T>(work: () => T): T {
    this.#owner.runner = this.#runner
    try {
      return work()
    } finally {
      this.#owner.runner = undefined
    }
  }

  end(): void {
    this.#runner.end()
  }
}
