/**
 * Runs the reads of one client's request: those that are proved to be short in this thread at once, all others in a reader
 * thread, in turns with other requests.
 */
import { Kept } from '../../core/kept.js'
import { quote } from '../contract/ddl.js'
import { boundOf, ownQuestion, type Statement, changes } from '../contract/statement.js'
import type { Connection } from './connection.js'
import { type Later, after } from '../../core/later.js'
import type { Answers, ClientReading, Row, Runner, Values, Wanted } from '../contract/engine.js'
import { EngineFault } from '../contract/engine-fault.js'
import type { PendingRead, Readers } from './reader-threads.js'

/**
 * Which reads of clients run in the main thread: those that are proved to look at few rows. What a statement says of its
 * bound is joined with the sizes of tables, which SQLite tells without reading rows, and with its plan where the bound
 * rests on indexes: a database may lack one. Sources: SQLite, EXPLAIN QUERY PLAN; The ROWID.
 */

/** The most rows that a statement may look at in the main thread: some milliseconds. */
const mostRows = 1000
/** The most of one that surely ends soon, so that others of its kind may wait for it. */
const mostQuick = 20_000
/** Milliseconds for which a table's size counts. */
const sizeLasts = 200
const mostSizes = 1000

type Length = 'short' | 'quick' | 'long'

export class ShortReads {
  readonly #connection: Connection
  readonly #now: () => number
  readonly #isServed = new WeakMap<Statement, boolean>()
  readonly #sizes = new Kept<{ readonly read: Statement; rows: number; until: number }>(mostSizes)

  /** @param now milliseconds of a monotonic clock */
  constructor(connection: Connection, now = (): number => performance.now()) {
    this.#connection = connection
    this.#now = now
  }

  lengthOf(statement: Statement, values: readonly unknown[]): Length {
    const rows = boundOf(statement, values, this.#rowsOf)
    if (!(rows <= mostQuick) || !this.#goesByIndex(statement, values)) return 'long'
    return rows <= mostRows ? 'short' : 'quick'
  }

  /** No table has more rows than numbers from its first row's to its last one's. */
  readonly #rowsOf = (table: string): number => {
    const size = this.#sizes.get(table, () => ({ read: sizeOf(table), rows: 0, until: 0 }))
    const now = this.#now()
    if (now < size.until) return size.rows
    try {
      const row = this.#connection.run(size.read, [], 'first')
      size.rows = Number(row?.[0] ?? 0)
    } catch {
      // A view, or a table without such numbers.
      size.rows = Infinity
    }
    size.until = now + sizeLasts
    return size.rows
  }

  /** One of the indexes is there and used, or keys alone are. The plan of each statement is read once. */
  #goesByIndex(statement: Statement, values: readonly unknown[]): boolean {
    const { by = [] } = statement
    if (by.length === 0) return true
    let known = this.#isServed.get(statement)
    if (known === undefined) {
      const explain = ownQuestion(`explain query plan ${statement.sql}`)
      const { rows: plan } = this.#connection.run(explain, values, 'all')
      known = goesBy(
        plan.map((row) => String(row[3])),
        by,
      )
      this.#isServed.set(statement, known)
    }
    return known
  }
}

function sizeOf(table: string): Statement {
  const name = quote(table)
  return ownQuestion(
    `select (select max(rowid) from ${name}) - (select min(rowid) from ${name}) + 1`,
  )
}

/** @param details lines of the plan: `SEARCH t USING INDEX item_name_index (name=?)`, `SCAN t` */
function goesBy(details: readonly string[], by: readonly string[]): boolean {
  const steps = details.map((detail) => detail.split(' '))
  if (steps.some((words) => words.includes('AUTOMATIC'))) return false
  if (steps.some((words) => by.some((name) => words.includes(name)))) return true
  // A list of values is read as a virtual table.
  const scans = steps.filter(([word]) => word === 'SCAN')
  return scans.every((words) => words.includes('VIRTUAL') || words[1] === 'CONSTANT')
}

/** The parts that all requests of an engine share. */
export interface ReadParts {
  /** Runs statements in this thread. */
  readonly engine: Runner
  readonly short: ShortReads
  readonly readers: Readers
  /** Milliseconds that all long reads of a request may take together; 0 means no limit. */
  readonly time: number
}

export class SqliteClientReads implements Runner {
  readonly #request: ClientReading
  readonly #parts: ReadParts
  readonly #running = new Set<PendingRead>()
  /** When the time is up; `undefined` before the first long read. */
  #end: number | undefined

  constructor(request: ClientReading, parts: ReadParts) {
    this.#request = request
    this.#parts = parts
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Later<Answers[W]> {
    const length = isOfRows(wanted) ? this.#lengthOf(statement, values) : 'short'
    if (length === 'short') return this.#parts.engine.run(statement, values, wanted)
    const rows = this.#read(statement, values, length)
    return (wanted === 'first' ? after(rows, ([row]) => row) : rows) as Later<Answers[W]>
  }

  #lengthOf(statement: Statement, values: readonly unknown[]): Length {
    const { short, readers } = this.#parts
    if (changes(statement) || !readers.isUsable) return 'short'
    return short.lengthOf(statement, values)
  }

  async #read(
    statement: Statement,
    values: readonly unknown[],
    length: Length,
  ): Promise<readonly Row[]> {
    const { engine, readers, time } = this.#parts
    if (this.#request.isOver === true) throw leftAlone()
    const now = performance.now()
    if (this.#end === undefined) {
      this.#end = time > 0 ? now + time : Infinity
      this.#request.onFinished(() => {
        for (const reading of this.#running) reading.cancel(leftAlone())
      })
    }
    // A stream lasts longer than a handler: each of its reads gets the full time.
    const end = this.#request.answered === true && time > 0 ? now + time : this.#end
    if (now >= end) throw tookTooLong(time)
    const { sql } = statement
    const owner = this.#request
    const reading = readers.read({ sql, values, owner, isQuick: length === 'quick' })
    this.#running.add(reading)
    const timer =
      end === Infinity
        ? undefined
        : setTimeout(() => {
            reading.cancel(tookTooLong(time))
          }, end - now)
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

/** What the program asks for as a whole, or only counts, is not sent to a reader. */
export function isOfRows(wanted: Wanted): boolean {
  return wanted === 'rows' || wanted === 'first'
}

function tookTooLong(time: number): EngineFault {
  return new EngineFault('unavailable', `A client's reads took longer than ${time} ms.`)
}

function leftAlone(): EngineFault {
  return new EngineFault('unavailable', 'The client no longer waits for the answer of the read.')
}
