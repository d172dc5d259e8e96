/** The transactions that write the rows of one table. The state of the copy changes with the rows. */
import type { CopyTransaction, EngineCopying } from '../../engines/contract/exchange.js'
import type { Runner } from '../../engines/contract/engine.js'
import { quoteTable } from '../../engines/contract/quote.js'
import { frameworkChange } from '../../engines/contract/statement.js'
import type { CopiedTable } from './copy-plan.js'
import type { CopyState, TableState } from './copy-state.js'

/** Milliseconds between two commits. */
const commitInterval = 1000

export class TableTransactions {
  readonly #copying: EngineCopying
  readonly #state: CopyState
  readonly #table: CopiedTable
  #transaction: CopyTransaction | undefined
  #committedAt = performance.now()
  /** The last write, which runs while the next rows are read. */
  #writing: Promise<void> = Promise.resolve()
  #written: TableState = { rows: 0, last: [], isDone: false }

  constructor(copying: EngineCopying, state: CopyState, table: CopiedTable) {
    this.#copying = copying
    this.#state = state
    this.#table = table
  }

  get checksReferences(): boolean {
    return this.#transaction?.checksReferences === true
  }

  async begin(): Promise<void> {
    this.#transaction = await this.#copying.begin()
    this.#committedAt = performance.now()
  }

  async deleteAll(): Promise<void> {
    const sql = `delete from ${quoteTable(this.#table.name)}`
    await this.#runner.run(frameworkChange('delete', sql), [], 'count')
  }

  /**
   * Waits for the previous write and begins this one.
   *
   * @param state after it. Undefined if the table is complete
   */
  async write(
    write: (runner: Runner) => Promise<void>,
    state: TableState | undefined,
  ): Promise<void> {
    await this.#writing
    if (performance.now() - this.#committedAt >= commitInterval) {
      await this.#commit()
      await this.begin()
    }
    this.#writing = write(this.#runner)
    // It is awaited by the next call.
    this.#writing.catch(() => undefined)
    if (state !== undefined) this.#written = state
  }

  /** The table is complete. */
  async finish(): Promise<void> {
    await this.#writing
    this.#written = { ...this.#written, isDone: true }
    await this.#commit()
  }

  /** Rolls back what is not committed. */
  async close(): Promise<void> {
    const transaction = this.#transaction
    this.#transaction = undefined
    if (transaction === undefined) return
    await this.#writing.catch(() => undefined)
    await transaction.rollback()
  }

  async #commit(): Promise<void> {
    await this.#state.set(this.#runner, this.#table.name, this.#written)
    const transaction = this.#transaction
    this.#transaction = undefined
    await transaction?.commit()
  }

  get #runner(): Runner {
    if (this.#transaction === undefined) throw new Error('No transaction is open.')
    return this.#transaction
  }
}
