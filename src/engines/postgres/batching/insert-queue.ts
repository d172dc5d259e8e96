/**
 * A queue of inserts of one row. If a batch fails, nothing was stored, and each call runs separately to get its own
 * result or error. A row that waits for a lock (because of a unique value or a foreign key) delays the others only
 * briefly, and then waits separately.
 */
import type { MaybePromise } from '../../../core/maybe-promise.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { affectsAllCalls, isLockTimeout } from '../errors.js'
import { writeBatchedInsert, type BatchedStatement } from './batched-statement.js'
import { maxRows, WriteQueue, type QueuedWrite, type WriteCaller } from './write-queue.js'

export class InsertQueue extends WriteQueue {
  constructor(statement: Statement, engine: Engine) {
    super(statement, engine, writeBatchedInsert)
  }

  /** @returns the stored row */
  run(values: readonly unknown[], caller: WriteCaller): MaybePromise<readonly Row[]> {
    return this.inFlight > 0 && typeof this.batched === 'object'
      ? this.queue(values, caller)
      : this.runDirectly(values, caller)
  }

  protected override onResult(): void {
    if (this.inFlight === 0) this.send()
  }

  protected override send(): void {
    const { batched } = this
    this.waiting = this.waiting.filter(({ isOver }) => !isOver)
    const calls = this.waiting.splice(0, maxRows)
    const [first] = calls
    if (first === undefined) return
    if (calls.length === 1 || typeof batched !== 'object')
      for (const call of calls) void call.runAlone(this.statement).then(this.begin())
    else void this.#runTogether(calls, batched)
  }

  async #runTogether(calls: readonly QueuedWrite[], batched: BatchedStatement): Promise<void> {
    let rows: readonly Row[]
    try {
      rows = await this.runBatched(calls, batched)
    } catch (error) {
      await this.#fail(calls, error)
      return
    }
    // The statement guarantees one row for each call, in order.
    for (const [index, call] of calls.entries()) call.resolve(rows.slice(index, index + 1))
  }

  /**
   * After an outage or a timeout, each call gets that error: the outcome is unknown, or a retry would time out again.
   */
  async #fail(calls: readonly QueuedWrite[], error: unknown): Promise<void> {
    const isLockWait = isLockTimeout(error)
    if (!isLockWait && affectsAllCalls(error)) {
      for (const call of calls) call.reject(error)
      return
    }
    const onResult = await Promise.all(calls.map((call) => call.runAlone(this.statement)))
    if (!isLockWait && onResult.every(Boolean)) this.recordGroupFailure()
  }
}
