/**
 * The changes of one row by its key, or of several rows by a list of theirs, all of them or none. The first goes at once; those that come while some are on their way go together as one
 * statement, and so with one commit. That statement waits for nobody: a call for a row that others hold, or for one that is not there,
 * is tried by itself behind it. Of what fails each half is tried, down to the call that is the reason.
 */

import { lateFault } from '../../client-writes.js'
import type { ClientWriting, UnderWay } from '../../contract/request-context.js'
import type { Row, Runner, Statement, Engine } from '../../contract/engine.js'
import { isThenable, type MaybePromise } from '../../../core/maybe-promise.js'
import {
  askJoined,
  type JoinedStatement,
  type WriteJoined,
  writeJoinedCreate,
  writeJoinedChange,
  writeJoinedRows,
} from './batched-statement.js'
import { isLockTimeout, isOfAll } from '../errors.js'

/**
 * What the queues of changes and of new rows share: what is on its way, what waits, and what is known of how the calls of a
 * statement go together.
 */

/** A write that waits to go together with others of its statement, and how one goes by itself. */

/** Rows in one statement. */
const mostRows = 64

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

class QueuedWrite implements UnderWay {
  readonly values: readonly unknown[]
  readonly keys: readonly string[]
  /** It was answered, or its request's time was over before it went. */
  isOver = false
  /** It is on its way, with others or by itself: who stops it then waits for what becomes of it. */
  hasGone = false
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
    caller.writing?.begun(this)
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
    if (!this.hasGone) this.reject(lateFault())
  }

  /** @returns whether it was answered, and not refused */
  async runAlone(statement: Statement): Promise<boolean> {
    this.hasGone = true
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
    this.#caller.writing?.ended(this, isDone)
  }
}

/** Groups that failed where each of their calls did not: then all go by themselves. */
const mostFailures = 3

abstract class WriteQueue {
  protected readonly statement: Statement
  protected readonly engine: Engine
  protected waiting: QueuedWrite[] = []
  protected underWay = 0
  protected joined: JoinedStatement | 'unknown' | 'asked' | 'never' = 'unknown'
  readonly #write: WriteJoined
  /** What is on its way from an earlier one is not waited for any more. */
  #turn = 0
  /** Nothing has come since somebody looked. */
  #isSlow = false
  #failures = 0

  constructor(statement: Statement, engine: Engine, write: WriteJoined) {
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
  look(): boolean {
    if (this.#isSlow) {
      this.#turn++
      this.underWay = 0
      this.send()
    } else this.#isSlow = true
    return this.isWaiting
  }

  /** Sends what waits. */
  protected abstract send(): void

  /** Something on its way was answered. */
  protected abstract answered(): void

  /** A call that goes by itself. */
  protected goAlone(
    values: readonly unknown[],
    { runner }: WriteCaller,
  ): MaybePromise<readonly Row[]> {
    if (this.underWay > 0 && this.joined === 'unknown') this.#ask()
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
    const turn = this.#turn
    this.underWay++
    this.#isSlow = false
    return () => {
      if (turn !== this.#turn) return
      this.underWay--
      this.#isSlow = false
      this.answered()
    }
  }

  protected async runJoined(
    calls: readonly QueuedWrite[],
    joined: JoinedStatement,
  ): Promise<readonly Row[]> {
    const onAnswer = this.begin()
    for (const call of calls) call.hasGone = true
    try {
      return await this.engine.run(
        joined.statement,
        joined.toLists(calls.map(({ values }) => values)),
        'rows',
      )
    } finally {
      onAnswer()
    }
  }

  /** A group has failed, and none of its calls. @returns whether all go by themselves from now on */
  protected failedTogether(): boolean {
    this.#failures++
    if (this.#failures !== mostFailures) return false
    this.joined = 'never'
    return true
  }

  #ask(): void {
    this.joined = 'asked'
    void askJoined(this.statement, this.engine, this.#write).then((joined) => {
      this.joined = joined
    })
  }
}

/**
 * New rows of one table, each of one call. The first goes at once; those that come while it is on its way go together as one
 * statement, and so with one commit, when it has its answer. Of a statement that fails nothing was kept: then each call is
 * run by itself, so that it has its own answer or fault. One that has to wait for somebody (a unique value that another
 * transaction has written, a row that it refers to) holds the others for a moment only: then it waits by itself.
 */

export class CreateQueue extends WriteQueue {
  constructor(statement: Statement, engine: Engine) {
    super(statement, engine, writeJoinedCreate)
  }

  /** @returns the stored row */
  run(values: readonly unknown[], caller: WriteCaller): MaybePromise<readonly Row[]> {
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
  run(values: readonly unknown[], caller: WriteCaller): MaybePromise<readonly Row[]> {
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
