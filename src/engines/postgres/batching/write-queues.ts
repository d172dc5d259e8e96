/**
 * The changes of one row by its key, or of several rows by a list of theirs, all of them or none. The first goes at once; those that come while some are on their way go together as one
 * statement, and so with one commit. That statement waits for nobody: a call for a row that others hold, or for one that is not there,
 * is tried by itself behind it. Of what fails each half is tried, down to the call that is the reason.
 */

import { requestTimeoutError } from '../../client-writes.js'
import type { ClientWriting, PendingWrite } from '../../contract/request-context.js'
import type { Row, Runner, Statement, Engine } from '../../contract/engine.js'
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

/**
 * What the queues of changes and of new rows share: what is on its way, what waits, and what is known of how the calls of a
 * statement go together.
 */

/** A write that waits to go together with others of its statement, and how one goes by itself. */

/** Rows in one statement. */
const maxRows = 64

/** Who writes: a request, or the program itself. */
export interface WriteCaller {
  /** Runs a statement for this caller alone. */
  readonly runner: Runner
  /** Absent for the program. */
  readonly writing?: ClientWriting | undefined
}

interface Answer {
  resolve(rows: readonly Row[]): void
  reject(error: unknown): void
}

class QueuedWrite implements PendingWrite {
  readonly values: readonly unknown[]
  readonly keys: readonly string[]
  /** It was answered, or its request's time was over before it went. */
  isOver = false
  /** It is on its way, with others or by itself: who stops it then waits for what becomes of it. */
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

  /** @returns whether it was answered, and not refused */
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

/** Groups that failed where each of their calls did not: then all go by themselves. */
const maxGroupFailures = 3

abstract class WriteQueue {
  protected readonly statement: Statement
  protected readonly engine: Engine
  protected waiting: QueuedWrite[] = []
  protected inFlight = 0
  protected batched: BatchedStatement | 'unknown' | 'asked' | 'never' = 'unknown'
  readonly #write: WriteBatch
  /** What is on its way from an earlier one is not waited for any more. */
  #generation = 0
  /** Nothing has come since somebody looked. */
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

  /**
   * What takes long may stand in a line of its own, or wait for somebody: nobody waits for it any more.
   *
   * @returns whether somebody waits
   */
  check(): boolean {
    if (this.#isSlow) {
      this.#generation++
      this.inFlight = 0
      this.send()
    } else this.#isSlow = true
    return this.isWaiting
  }

  /** Sends what waits. */
  protected abstract send(): void

  /** Something on its way was answered. */
  protected abstract onResult(): void

  /** A call that goes by itself. */
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

  /** @param keys of the rows that it changes */
  protected queue(
    values: readonly unknown[],
    caller: WriteCaller,
    keys: readonly string[] = [],
  ): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push(new QueuedWrite(values, caller, keys, { resolve, reject }))
    })
  }

  /** Something goes. @returns what is called with its answer */
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

  /** A group has failed, and none of its calls. @returns whether all go by themselves from now on */
  protected recordGroupFailure(): boolean {
    this.#failures++
    if (this.#failures !== maxGroupFailures) return false
    this.batched = 'never'
    return true
  }

  #prepare(): void {
    this.batched = 'asked'
    void prepareBatch(this.statement, this.engine, this.#write).then((batched) => {
      this.batched = batched
    })
  }
}

/**
 * New rows of one table, each of one call. The first goes at once; those that come while it is on its way go together as one
 * statement, and so with one commit, when it has its answer. Of a statement that fails nothing was kept: then each call is
 * run by itself, so that it has its own answer or fault. One that has to wait for somebody (a unique value that another
 * transaction has written, a row that it refers to) holds the others for a moment only: then it waits by itself.
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
    const { batched: joined } = this
    this.waiting = this.waiting.filter(({ isOver }) => !isOver)
    const calls = this.waiting.splice(0, maxRows)
    const [first] = calls
    if (first === undefined) return
    if (calls.length === 1 || typeof joined !== 'object')
      for (const call of calls) void call.runAlone(this.statement).then(this.begin())
    else void this.#runTogether(calls, joined)
  }

  async #runTogether(calls: readonly QueuedWrite[], batched: BatchedStatement): Promise<void> {
    let rows: readonly Row[]
    try {
      rows = await this.runBatched(calls, batched)
    } catch (error) {
      await this.#fail(calls, error)
      return
    }
    // The statement makes sure that there are as many, in the order of the calls.
    for (const [index, call] of calls.entries()) call.resolve(rows.slice(index, index + 1))
  }

  /** Where the server was lost or took its time, each call is told so: nobody knows, or it would take as long again. */
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

/** Rows in one statement, of calls that change several. */
const maxListRows = 1000

/** Rows of one of them: what changes more goes by itself, and nobody waits for it. */
const maxRowsPerCall = 100

export class UpdateQueue extends WriteQueue {
  readonly #maxInFlight: number
  #isGathering = false

  /** @param most statements on their way at once */
  constructor(statement: Statement, engine: Engine, most: number) {
    super(
      statement,
      engine,
      statement.rows === undefined ? writeBatchedUpdate : writeBatchedRowUpdates,
    )
    this.#maxInFlight = most
  }

  /** @returns the changed row. It goes by itself where nobody is before it, or it is not known how they go together */
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

  /** Texts that are the same for the same row. */
  #rowKeysOf(values: readonly unknown[]): readonly string[] {
    const { oneRow, rows } = this.statement
    if (rows !== undefined) return (values[rows.keys] as string).slice(1, -1).split(',')
    return [String(values[(oneRow?.keyPosition ?? 1) - 1])]
  }

  /** Sends at the end of the loop's turn: until then others may come. */
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
    const { batched: joined } = this
    if (!this.isWaiting || typeof joined !== 'object') return
    const calls = this.#take()
    const [first] = calls
    if (first !== undefined && calls.length === 1)
      void first.runAlone(this.statement).then(this.begin())
    else if (first !== undefined) void this.#runTogether(calls, joined)
  }

  /** Calls for different rows, as many as go into one statement; what else is for one of them comes behind it. */
  #take(): QueuedWrite[] {
    const most = this.statement.rows === undefined ? maxRows : maxListRows
    const keys = new Set<string>()
    const calls: QueuedWrite[] = []
    const remaining: QueuedWrite[] = []
    for (const call of this.waiting) {
      if (call.isOver) continue
      const isFull = calls.length > 0 && keys.size + call.keys.length > most
      const goes = !isFull && !call.keys.some((key) => keys.has(key))
      for (const key of call.keys) keys.add(key)
      ;(goes ? calls : remaining).push(call)
    }
    this.waiting = remaining
    return calls
  }

  /** @returns whether each was answered */
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

  /** In a turn of the loop of its own: calls of one turn may wait for each other. */
  #runSeparately(call: QueuedWrite): void {
    setImmediate(() => void call.runAlone(this.statement))
  }

  /** Of what failed nothing was kept, unless the server was lost: then nobody knows. What took its time is not tried again. */
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
