/**
 * Runs the reads of one client's request: those that are proved to be short in this thread at once, all others in a reader
 * thread, in turns with other requests.
 */
import { type Later, after } from '../../core/later.js'
import type {
  Answers,
  ClientReading,
  Row,
  Runner,
  Statement,
  Values,
  Wanted,
} from '../contract/engine.js'
import { EngineFault } from '../contract/engine-fault.js'
import { changes } from '../contract/statement.js'
import type { Length, ShortReads } from './short-reads.js'
import type { PendingRead, Readers } from './readers.js'

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
