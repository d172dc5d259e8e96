/**
 * Runs the reads of one request. A read that provably examines few rows runs in the main thread. Longer ones run in a
 * reader thread, where clients and their requests take turns, so that they do not block the event loop.
 */
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { ClientReading } from '../contract/engine.js'
import type { ResultKind, Results, Row, Runner, Values } from '../contract/runner.js'
import { EngineError } from '../contract/engine-error.js'
import { isWrite, type Statement } from '../contract/statement.js'
import type { ReadCost, ReadCostEstimator } from './read-costs.js'
import type { PendingRead, ReaderThreads } from './reader-threads.js'

/** Shared by all requests of an engine. */
export interface SharedReadParts {
  /** Runs statements in this thread. */
  readonly engine: Runner
  readonly readCosts: ReadCostEstimator
  readonly readers: ReaderThreads
  /** Milliseconds that all long reads of one request may take together. 0 means no limit. */
  readonly readTime: number
}

export class SqliteClientReads implements Runner {
  readonly #request: ClientReading
  readonly #parts: SharedReadParts
  readonly #running = new Set<PendingRead>()
  /** When the read time of the request is used up. `undefined` before the first long read. */
  #deadline: number | undefined

  constructor(request: ClientReading, parts: SharedReadParts) {
    this.#request = request
    this.#parts = parts
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    const cost = returnsRows(resultKind) ? this.#estimate(statement, values) : 'short'
    if (cost === 'short') return this.#parts.engine.run(statement, values, resultKind)
    const rows = this.#read(statement, values, cost)
    return (resultKind === 'first' ? after(rows, ([row]) => row) : rows) as MaybePromise<Results[W]>
  }

  #estimate(statement: Statement, values: readonly unknown[]): ReadCost {
    const { readCosts, readers } = this.#parts
    if (isWrite(statement) || !readers.isUsable) return 'short'
    return readCosts.estimate(statement, values)
  }

  async #read(
    statement: Statement,
    values: readonly unknown[],
    cost: ReadCost,
  ): Promise<readonly Row[]> {
    const { engine, readers, readTime } = this.#parts
    if (this.#request.isOver === true) throw requestFinished()
    const now = performance.now()
    if (this.#deadline === undefined) {
      this.#deadline = readTime > 0 ? now + readTime : Infinity
      this.#request.onFinished(() => {
        for (const reading of this.#running) reading.cancel(requestFinished())
      })
    }
    // A stream lasts longer than a handler, so each of its reads gets the full time.
    const deadline =
      this.#request.answered === true && readTime > 0 ? now + readTime : this.#deadline
    if (now >= deadline) throw readTimeExceeded(readTime)
    const { sql } = statement
    const owner = this.#request
    const { client, maxReadBytes } = owner
    const isQuick = cost === 'quick'
    const reading = readers.read({ sql, values, owner, client, maxReadBytes, isQuick })
    this.#running.add(reading)
    const timer =
      deadline === Infinity
        ? undefined
        : setTimeout(() => {
            reading.cancel(readTimeExceeded(readTime))
          }, deadline - now)
    try {
      return await reading.rows
    } catch (error) {
      if (readers.isUsable) throw error
      return await engine.run(statement, values, 'rows')
    } finally {
      clearTimeout(timer)
      this.#running.delete(reading)
    }
  }
}

/** Whether a result consists of rows. Reader threads return nothing else. */
export function returnsRows(resultKind: ResultKind): boolean {
  return resultKind === 'rows' || resultKind === 'first'
}

function readTimeExceeded(time: number): EngineError {
  return new EngineError('unavailable', `The reads of the request took longer than ${time} ms.`)
}

function requestFinished(): EngineError {
  return new EngineError('unavailable', 'The request has ended, so its read was canceled.')
}
