/**
 * New rows of one table, each of one call. The first goes at once; those that come while it is on its way go together as one
 * statement, and so with one commit, when it has its answer. Of a statement that fails nothing was kept: then each call is
 * run by itself, so that it has its own answer or fault. One that has to wait for somebody (a unique value that another
 * transaction has written, a row that it refers to) holds the others for a moment only: then it waits by itself.
 */
import type { Later } from '../../../core/later.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { isLockTimeout, isOfAll } from '../faults.js'
import { writeJoinedCreate, type JoinedStatement } from './joined-statement.js'
import { mostRows, type QueuedWrite, type WriteCaller } from './queued-write.js'
import { WriteQueue } from './write-queue.js'

export class CreateQueue extends WriteQueue {
  constructor(statement: Statement, engine: Engine) {
    super(statement, engine, writeJoinedCreate)
  }

  /** @returns the stored row */
  run(values: readonly unknown[], caller: WriteCaller): Later<readonly Row[]> {
    return this.underWay > 0 && typeof this.joined === 'object'
      ? this.queue(values, caller)
      : this.goAlone(values, caller)
  }

  protected override answered(): void {
    if (this.underWay === 0) this.send()
  }

  protected override send(): void {
    const { joined } = this
    this.waiting = this.waiting.filter(({ isOver }) => !isOver)
    const calls = this.waiting.splice(0, mostRows)
    const [first] = calls
    if (first === undefined) return
    if (calls.length === 1 || typeof joined !== 'object')
      for (const call of calls) void call.runAlone(this.statement).then(this.begin())
    else void this.#runTogether(calls, joined)
  }

  async #runTogether(calls: readonly QueuedWrite[], joined: JoinedStatement): Promise<void> {
    let rows: readonly Row[]
    try {
      rows = await this.runJoined(calls, joined)
    } catch (error) {
      await this.#fail(calls, error)
      return
    }
    // The statement makes sure that there are as many, in the order of the calls.
    for (const [index, call] of calls.entries()) call.resolve(rows.slice(index, index + 1))
  }

  /** Where the server was lost or took its time, each call is told so: nobody knows, or it would take as long again. */
  async #fail(calls: readonly QueuedWrite[], error: unknown): Promise<void> {
    const isWait = isLockTimeout(error)
    if (!isWait && isOfAll(error)) {
      for (const call of calls) call.reject(error)
      return
    }
    const answered = await Promise.all(calls.map((call) => call.runAlone(this.statement)))
    if (!isWait && answered.every(Boolean)) this.failedTogether()
  }
}
