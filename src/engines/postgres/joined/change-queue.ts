/**
 * The changes of one row by its key, or of several rows by a list of theirs, all of them or none. The first goes at once; those that come while some are on their way go together as one
 * statement, and so with one commit. That statement waits for nobody: a call for a row that others hold, or for one that is not there,
 * is tried by itself behind it. Of what fails each half is tried, down to the call that is the reason.
 */
import type { Later } from '../../../core/later.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { isOfAll } from '../faults.js'
import { writeJoinedChange, writeJoinedRows, type JoinedStatement } from './joined-statement.js'
import { mostRows, type QueuedWrite, type WriteCaller } from './queued-write.js'
import { WriteQueue } from './write-queue.js'

/** Rows in one statement, of calls that change several. */
const mostOfLists = 1000

/** Rows of one of them: what changes more goes by itself, and nobody waits for it. */
const mostOfOne = 100

export class ChangeQueue extends WriteQueue {
  readonly #most: number
  #isGathering = false

  /** @param most statements on their way at once */
  constructor(statement: Statement, engine: Engine, most: number) {
    super(statement, engine, statement.rows === undefined ? writeJoinedChange : writeJoinedRows)
    this.#most = most
  }

  /** @returns the changed row. It goes by itself where nobody is before it, or it is not known how they go together */
  run(values: readonly unknown[], caller: WriteCaller): Later<readonly Row[]> {
    if (this.#isLong(values)) return caller.runner.run(this.statement, values, 'rows')
    if (this.underWay === 0 || typeof this.joined !== 'object') return this.goAlone(values, caller)
    if (this.underWay < this.#most) this.#gather()
    return this.queue(values, caller, this.#keysOf(values))
  }

  #isLong(values: readonly unknown[]): boolean {
    const { rows } = this.statement
    return rows !== undefined && rows.sizeOf(values) > mostOfOne
  }

  /** Texts that are the same for the same row. */
  #keysOf(values: readonly unknown[]): readonly string[] {
    const { oneRow, rows } = this.statement
    if (rows !== undefined) return (values[rows.keys] as string).slice(1, -1).split(',')
    return [String(values[(oneRow?.keyPlace ?? 1) - 1])]
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
    if (this.underWay < this.#most) this.send()
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
    const most = this.statement.rows === undefined ? mostRows : mostOfLists
    const keys = new Set<string>()
    const calls: QueuedWrite[] = []
    const left: QueuedWrite[] = []
    for (const call of this.waiting) {
      if (call.isOver) continue
      const isFull = calls.length > 0 && keys.size + call.keys.length > most
      const goes = !isFull && !call.keys.some((key) => keys.has(key))
      for (const key of call.keys) keys.add(key)
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
    const changed = calls.map((): Row[] => [])
    for (const row of rows) changed[Number(row.at(-1)) - 1]?.push(row)
    for (const [index, call] of calls.entries()) {
      const own = changed[index] ?? []
      if (own.length > 0) call.resolve(own)
      else this.#runApart(call)
    }
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
