/**
 * A queue of the calls of one write. The first call is sent immediately. Calls that arrive while others run are sent
 * together as one statement, and so with one commit.
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
import { prepareBatch, type BatchedStatement, type WriteBatch } from './batched-statement.js'

/** The maximum number of rows in one statement. */
export const maxRows = 64

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

export class QueuedWrite implements PendingWrite {
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

export abstract class WriteQueue {
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
