/**
 * A queue of updates by key. A batch never waits for locks: a call whose row is locked or missing runs separately after
 * it. If a batch fails, each half is tried again, down to the call that causes the error.
 */
import type { MaybePromise } from '../../../core/maybe-promise.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import type { OneRowChange } from '../../contract/statement.js'
import { affectsAllCalls } from '../errors.js'
import {
  writeBatchedRowUpdates,
  writeBatchedUpdate,
  type BatchedStatement,
} from './batched-statement.js'
import { maxRows, WriteQueue, type QueuedWrite, type WriteCaller } from './write-queue.js'

/** The maximum number of rows in one statement, for calls that update several rows. */
const maxListRows = 1000

/** The maximum number of rows of a batched call. Larger calls run separately. */
const maxRowsPerCall = 100

export class UpdateQueue extends WriteQueue {
  readonly #maxInFlight: number
  #isGathering = false

  /** @param maxInFlight the maximum number of running statements */
  constructor(statement: Statement, engine: Engine, maxInFlight: number) {
    super(
      statement,
      engine,
      statement.rows === undefined ? writeBatchedUpdate : writeBatchedRowUpdates,
    )
    this.#maxInFlight = maxInFlight
  }

  /**
   * Runs the call directly if no other call runs or if the batched statement is not prepared.
   *
   * @returns the updated rows
   */
  run(values: readonly unknown[], caller: WriteCaller): MaybePromise<readonly Row[]> {
    if (this.#isLong(values)) return caller.runner.run(this.statement, values, 'rows')
    if (this.inFlight === 0 || typeof this.batched !== 'object')
      return this.runDirectly(values, caller)
    if (this.inFlight < this.#maxInFlight) this.#gather()
    return this.queue(values, caller, this.#rowKeysOf(values))
  }

  #isLong(values: readonly unknown[]): boolean {
    const { rows } = this.statement
    return rows !== undefined && rows.sizeOf(values) > maxRowsPerCall
  }

  /** Texts that identify the rows of a call. */
  #rowKeysOf(values: readonly unknown[]): readonly string[] {
    const { oneRow, rows } = this.statement
    if (rows !== undefined) return rowKeysOfLists(rows.keys.map((index) => values[index] as string))
    return oneRow === undefined ? [] : [rowKeyOf(oneRow, values)]
  }

  /** Sends at the end of the current turn of the event loop, to collect more calls. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    setImmediate(() => {
      this.#isGathering = false
      if (this.inFlight < this.#maxInFlight) this.send()
    })
  }

  protected override onResult(): void {
    if (this.inFlight < this.#maxInFlight) this.send()
  }

  protected override send(): void {
    const { batched } = this
    if (!this.isWaiting || typeof batched !== 'object') return
    const calls = this.#take(batched.maxCalls)
    const [first] = calls
    if (first !== undefined && calls.length === 1)
      void first.runAlone(this.statement).then(this.begin())
    else if (first !== undefined) void this.#runTogether(calls, batched)
  }

  /** Takes calls for different rows, as many as fit into one statement. Further calls for the same row wait. */
  #take(maxCalls?: number): QueuedWrite[] {
    const maxKeys = maxCalls ?? (this.statement.rows === undefined ? maxRows : maxListRows)
    const keys = new Set<string>()
    const calls: QueuedWrite[] = []
    const remaining: QueuedWrite[] = []
    for (const call of this.waiting) {
      if (call.isOver) continue
      const isFull = calls.length > 0 && keys.size + call.keys.length > maxKeys
      const goes = !isFull && !call.keys.some((key) => keys.has(key))
      for (const key of call.keys) keys.add(key)
      ;(goes ? calls : remaining).push(call)
    }
    this.waiting = remaining
    return calls
  }

  /** @returns whether all calls have results */
  async #runTogether(calls: readonly QueuedWrite[], batched: BatchedStatement): Promise<boolean> {
    let rows: readonly Row[]
    try {
      rows = await this.runBatched(calls, batched)
    } catch (error) {
      return this.#fail(calls, error, batched)
    }
    const changed = calls.map((): Row[] => [])
    for (const row of rows) changed[Number(row.at(-1)) - 1]?.push(row)
    for (const [index, call] of calls.entries()) {
      const changedRows = changed[index] ?? []
      if (changedRows.length > 0) call.resolve(changedRows)
      else this.#runSeparately(call)
    }
    return true
  }

  /** Runs in a separate turn of the event loop, because calls of one turn may depend on each other. */
  #runSeparately(call: QueuedWrite): void {
    setImmediate(() => void call.runAlone(this.statement))
  }

  /**
   * After an error nothing was stored, except that an outage leaves the outcome unknown. Calls that timed out are not
   * tried again.
   */
  async #fail(
    calls: readonly QueuedWrite[],
    error: unknown,
    batched: BatchedStatement,
  ): Promise<boolean> {
    if (affectsAllCalls(error)) {
      for (const call of calls) call.reject(error)
      return false
    }
    const half = calls.length >> 1
    const tried = [calls.slice(0, half), calls.slice(half)].map((part) => {
      const [first] = part
      if (first !== undefined && part.length === 1) return first.runAlone(this.statement)
      return this.#runTogether(part, batched)
    })
    const isAnswered = (await Promise.all(tried)).every(Boolean)
    if (isAnswered && this.recordGroupFailure())
      for (const call of this.waiting.splice(0)) this.#runSeparately(call)
    return isAnswered
  }
}

/** A text that identifies the row of an update by its key. */
export function rowKeyOf({ key }: OneRowChange, values: readonly unknown[]): string {
  let text = ''
  for (const { position } of key) text += `${String(values[position - 1])}\0`
  return text
}

/** @param lists the list of each column of the key: `{1,2}` */
function rowKeysOfLists([first = '', ...others]: readonly string[]): readonly string[] {
  // Parts of a text with commas identify its row too.
  if (others.length === 0) return first.slice(1, -1).split(',')
  const items = others.map(itemsOf)
  return itemsOf(first).map((item, row) => [item, ...items.map((other) => other[row])].join())
}

function itemsOf(list: string): readonly string[] {
  return list.slice(1, -1).match(/"(?:\\[^]|[^"\\])*"|[^,]+/g) ?? []
}
