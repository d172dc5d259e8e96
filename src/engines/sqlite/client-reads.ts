/**
 * Runs the reads of one request. A read that provably examines few rows runs in the main thread. Longer ones run in a
 * reader thread, where requests take turns, so that they do not block the event loop.
 */
import { BoundedCache } from '../../core/bounded-cache.js'
import { quote } from '../contract/ddl.js'
import { boundOf, frameworkQuery, type Statement, isWrite } from '../contract/statement.js'
import type { Connection } from './connection.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Results, ClientReading, Row, Runner, Values, ResultKind } from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import type { PendingRead, ReaderThreads } from './reader-threads.js'

/** Rows that a statement may examine in the main thread. They take a few milliseconds. */
const maxShortRows = 1000
/** Rows up to which a statement ends soon, so that it may use the thread for quick reads. */
const maxQuickRows = 20_000
/** Milliseconds for which the size of a table is cached. */
const sizeLifetime = 200
const maxCachedSizes = 1000

type ReadCost = 'short' | 'quick' | 'long'

/**
 * Estimates how many rows a statement examines, from the bound in the statement and the sizes of its tables. If the
 * bound relies on indexes, the query plan is checked too, because the database may lack an index. Sources: SQLite,
 * EXPLAIN QUERY PLAN; The ROWID.
 */
export class ReadCostEstimator {
  readonly #connection: Connection
  readonly #now: () => number
  readonly #usesIndex = new WeakMap<Statement, boolean>()
  readonly #sizes = new BoundedCache<{ readonly read: Statement; rows: number; until: number }>(
    maxCachedSizes,
  )

  /** @param now milliseconds of a monotonic clock */
  constructor(connection: Connection, now = (): number => performance.now()) {
    this.#connection = connection
    this.#now = now
  }

  estimate(statement: Statement, values: readonly unknown[]): ReadCost {
    const rows = boundOf(statement, values, this.#rowsOf)
    if (!(rows <= maxQuickRows) || !this.#isIndexed(statement, values)) return 'long'
    return rows <= maxShortRows ? 'short' : 'quick'
  }

  /** A table has at most as many rows as there are numbers from its first to its last rowid. */
  readonly #rowsOf = (table: string): number => {
    const size = this.#sizes.get(table, () => ({ read: sizeOf(table), rows: 0, until: 0 }))
    const now = this.#now()
    if (now < size.until) return size.rows
    try {
      const row = this.#connection.run(size.read, [], 'first')
      size.rows = Number(row?.[0] ?? 0)
    } catch {
      // A view, or a table without rowids.
      size.rows = Infinity
    }
    size.until = now + sizeLifetime
    return size.rows
  }

  /** Whether the plan uses one of the indexes that the bound relies on. The plan of each statement is read once. */
  #isIndexed(statement: Statement, values: readonly unknown[]): boolean {
    const { by = [] } = statement
    if (by.length === 0) return true
    let cachedResult = this.#usesIndex.get(statement)
    if (cachedResult === undefined) {
      const explain = frameworkQuery(`explain query plan ${statement.sql}`)
      const { rows: plan } = this.#connection.run(explain, values, 'all')
      cachedResult = planUsesIndex(
        plan.map((row) => String(row[3])),
        by,
      )
      this.#usesIndex.set(statement, cachedResult)
    }
    return cachedResult
  }
}

function sizeOf(table: string): Statement {
  const name = quote(table)
  return frameworkQuery(
    `select (select max(rowid) from ${name}) - (select min(rowid) from ${name}) + 1`,
  )
}

/** @param details lines of the plan: `SEARCH t USING INDEX item_name_index (name=?)`, `SCAN t` */
function planUsesIndex(details: readonly string[], by: readonly string[]): boolean {
  const steps = details.map((detail) => detail.split(' '))
  if (steps.some((tokens) => tokens.includes('AUTOMATIC'))) return false
  if (steps.some((tokens) => by.some((name) => tokens.includes(name)))) return true
  // SQLite reads a list of values as a virtual table.
  const scans = steps.filter(([word]) => word === 'SCAN')
  return scans.every((tokens) => tokens.includes('VIRTUAL') || tokens[1] === 'CONSTANT')
}

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
    const reading = readers.read({ sql, values, owner, isQuick: cost === 'quick' })
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
