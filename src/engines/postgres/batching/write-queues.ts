/**
 * Queues of updates by key and of inserts. The first call is sent immediately. Calls that arrive while others run are
 * sent together as one statement, and so with one commit. A batched update never waits for locks: a call whose row is
 * locked or missing runs separately after it. If a batch fails, each half is tried again, down to the call that causes
 * the error.
 */

import { requestTimeoutError } from '../../client-writes.js'
import type {
  ClientWriting,
  PendingWrite,
  Row,
  Runner,
  Statement,
  Engine,
} from '../../contract/engine.js'
import { isThenable, type MaybePromise } from '../../../core/maybe-promise.js'
import {
  prepareBatch,
  type BatchedStatement,
  type WriteBatch,
  writeBatchedInsert,
  writeBatchedUpdate,
  writeBatchedRowUpdates,
} from './batched-statement.js'
import { isLockTimeout, affectsAllCalls } from '../errors.js'

/** The maximum number of rows in one statement. */
const maxRows = 64

/** The caller: a request, or the program itself. */
export interface WriteCaller {
  /** Runs a statement for this caller alone. */
  readonly runner: Runner
  /** Undefined for the program. */
  readonly writing?: ClientWriting | undefined
}

interface Answer {
  resolve(rows: readonly Row[]): void
  reject(error: unknown): void
}

class QueuedWrite implements PendingWrite {
  readonly values: readonly unknown[]
  readonly keys: readonly string[]
  /** It has a result, or its request has timed out before it was sent. */
  isOver = false
  /** It was sent, so that stopping it waits for its outcome. */
  isSent = false
  readonly #caller: WriteCaller
  readonly #answer: Answer

  constructor(
    values: readonly unknown[],
    caller: WriteCaller,
    keys: readonly string[],
    answer: Answer,
  ) {
    this.values = values
    this.keys = keys
    this.#caller = caller
    this.#answer = answer
    caller.writing?.writeStarted(this)
  }

  resolve(rows: readonly Row[]): void {
    this.#end(true)
    this.#answer.resolve(rows)
  }

  reject(error: unknown): void {
    this.#end(false)
    this.#answer.reject(error)
  }

  stop(): void {
    if (!this.isSent) this.reject(requestTimeoutError())
  }

  /** @returns whether it succeeded */
  async runAlone(statement: Statement): Promise<boolean> {
    this.isSent = true
    try {
      this.resolve(await this.#caller.runner.run(statement, this.values, 'rows'))
      return true
    } catch (error) {
      this.reject(error)
      return false
    }
  }

  #end(isDone: boolean): void {
    this.isOver = true
    this.#caller.writing?.writeEnded(this, isDone)
  }
}

/** After so many batches that failed although their calls succeed separately, the statement is no longer batched. */
const maxGroupFailures = 3

abstract class WriteQueue {
  protected readonly statement: Statement
  protected readonly engine: Engine
  protected waiting: QueuedWrite[] = []
  protected inFlight = 0
  protected batched: BatchedStatement | 'unknown' | 'preparing' | 'never' = 'unknown'
  readonly #write: WriteBatch
  /** Incremented by `check`. Later calls do not wait for calls of an earlier generation. */
  #generation = 0
  /** No result has arrived since the last check. */
  #isSlow = false
  #failures = 0

  constructor(statement: Statement, engine: Engine, write: WriteBatch) {
    this.statement = statement
    this.engine = engine
    this.#write = write
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0
  }

  /** Stops waiting for slow calls, which may be waiting for locks. @returns whether there are waiting calls */
  check(): boolean {
    if (this.#isSlow) {
      this.#generation++
      this.inFlight = 0
      this.send()
    } else this.#isSlow = true
    return this.isWaiting
  }

  /** Sends waiting calls. */
  protected abstract send(): void

  /** Called after each result. */
  protected abstract onResult(): void

  /** Runs a call directly. */
  protected runDirectly(
    values: readonly unknown[],
    { runner }: WriteCaller,
  ): MaybePromise<readonly Row[]> {
    if (this.inFlight > 0 && this.batched === 'unknown') this.#prepare()
    const answer = runner.run(this.statement, values, 'rows')
    if (isThenable(answer)) {
      const onAnswer = this.begin()
      answer.then(onAnswer, onAnswer)
    }
    return answer
  }

  /** @param keys the keys of the rows that it updates */
  protected queue(
    values: readonly unknown[],
    caller: WriteCaller,
    keys: readonly string[] = [],
  ): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push(new QueuedWrite(values, caller, keys, { resolve, reject }))
    })
  }

  /** Registers a running statement. @returns a function to call with its result */
  protected begin(): () => void {
    const generation = this.#generation
    this.inFlight++
    this.#isSlow = false
    return () => {
      if (generation !== this.#generation) return
      this.inFlight--
      this.#isSlow = false
      this.onResult()
    }
  }

  protected async runBatched(
    calls: readonly QueuedWrite[],
    batched: BatchedStatement,
  ): Promise<readonly Row[]> {
    const onAnswer = this.begin()
    for (const call of calls) call.isSent = true
    try {
      return await this.engine.run(
        batched.statement,
        batched.toLists(calls.map(({ values }) => values)),
        'rows',
      )
    } finally {
      onAnswer()
    }
  }

  /**
   * Counts a batch that failed although its calls succeed separately.
   *
   * @returns whether the statement is no longer batched
   */
  protected recordGroupFailure(): boolean {
    this.#failures++
    if (this.#failures !== maxGroupFailures) return false
    this.batched = 'never'
    return true
  }

  #prepare(): void {
    this.batched = 'preparing'
    void prepareBatch(this.statement, this.engine, this.#write).then((batched) => {
      this.batched = batched
    })
  }
}

/**
 * Inserts of one row into a table. The first call is sent immediately. Calls that arrive while it runs are sent
 * together as one statement, and so with one commit. If that statement fails, nothing was stored, and each call runs
 * separately to get its own result or error. A row that waits for a lock (because of a unique value or a foreign key)
 * delays the others only briefly, and then waits separately.
 */
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
    if (rows !== undefined) return (values[rows.keys] as string).slice(1, -1).split(',')
    return [String(values[(oneRow?.keyPosition ?? 1) - 1])]
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
    const calls = this.#take()
    const [first] = calls
    if (first !== undefined && calls.length === 1)
      void first.runAlone(this.statement).then(this.begin())
    else if (first !== undefined) void this.#runTogether(calls, batched)
  }

  /** Takes calls for different rows, as many as fit into one statement. Further calls for the same row wait. */
  #take(): QueuedWrite[] {
    const maxKeys = this.statement.rows === undefined ? maxRows : maxListRows
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
