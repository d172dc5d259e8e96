/**
 * The changes of one row by its key. The first goes at once; those that come while some are on their way go together as one
 * statement, and so with one commit. That statement waits for nobody: a row that others hold, and a row that is not there,
 * are tried by themselves behind it. Of what fails each half is tried, down to the call that is the reason.
 */
import type { Later } from '../../../core/later.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { isOfAll } from '../faults.js'
import { writeJoinedChange, type JoinedStatement } from './joined-statement.js'
import { mostRows, type QueuedWrite, type WriteCaller } from './queued-write.js'
import { WriteQueue } from './write-queue.js'

export class ChangeQueue extends WriteQueue {
  readonly #keyPlace: number
  readonly #most: number
  #isGathering = false

  /** @param most statements on their way at once */
  constructor(statement: Statement, engine: Engine, most: number) {
    super(statement, engine, writeJoinedChange)
    this.#most = most
    this.#keyPlace = (statement.oneRow?.keyPlace ?? 1) - 1
  }

  /** @returns the changed row. It goes by itself where nobody is before it, or it is not known how they go together */
  run(values: readonly unknown[], caller: WriteCaller): Later<readonly Row[]> {
    if (this.underWay === 0 || typeof this.joined !== 'object') return this.goAlone(values, caller)
    if (this.underWay < this.#most) this.#gather()
    return this.queue(values, caller)
  }

  /** Sends at the end of the loop's turn: until then others may come. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    setImmediate(() => {
      this.#isGathering = false
      if (this.underWay < this.#most) this.send()
    })
  }

  protected override answered(): void {
    this.send()
  }

  protected override send(): void {
    const { joined } = this
    if (!this.isWaiting || typeof joined !== 'object') return
    const calls = this.#take()
    const [first] = calls
    if (first !== undefined && calls.length === 1)
      void first.runAlone(this.statement).then(this.begin())
    else if (first !== undefined) void this.#runTogether(calls, joined)
  }

  /** Calls for different rows, as many as go into one statement; what else is for one of them comes behind it. */
  #take(): QueuedWrite[] {
    const keys = new Set<unknown>()
    const calls: QueuedWrite[] = []
    const left: QueuedWrite[] = []
    for (const call of this.waiting) {
      if (call.isOver) continue
      const key = String(call.values[this.#keyPlace])
      const goes = calls.length < mostRows && !keys.has(key)
      keys.add(key)
      ;(goes ? calls : left).push(call)
    }
    this.waiting = left
    return calls
  }

  /** @returns whether each was answered */
  async #runTogether(calls: readonly QueuedWrite[], joined: JoinedStatement): Promise<boolean> {
    let rows: readonly Row[]
    try {
      rows = await this.runJoined(calls, joined)
    } catch (error) {
      return this.#fail(calls, error, joined)
    }
    const isChanged = new Set<QueuedWrite>()
    for (const row of rows as unknown[][]) {
      const call = calls[Number(row.pop()) - 1]
      if (call === undefined) continue
      isChanged.add(call)
      call.resolve([row])
    }
    for (const call of calls) if (!isChanged.has(call)) this.#runApart(call)
    return true
  }

  /** In a turn of the loop of its own: calls of one turn may wait for each other. */
  #runApart(call: QueuedWrite): void {
    setImmediate(() => void call.runAlone(this.statement))
  }

  /** Of what failed nothing was kept, unless the server was lost: then nobody knows. What took its time is not tried again. */
  async #fail(
    calls: readonly QueuedWrite[],
    error: unknown,
    joined: JoinedStatement,
  ): Promise<boolean> {
    if (isOfAll(error)) {
      for (const call of calls) call.reject(error)
      return false
    }
    const half = calls.length >> 1
    const tried = [calls.slice(0, half), calls.slice(half)].map((part) => {
      const [first] = part
      if (first !== undefined && part.length === 1) return first.runAlone(this.statement)
      return this.#runTogether(part, joined)
    })
    const isAnswered = (await Promise.all(tried)).every(Boolean)
    if (isAnswered && this.failedTogether())
      for (const call of this.waiting.splice(0)) this.#runApart(call)
    return isAnswered
  }
}
