/**
 * Estimates how many rows a statement examines, from the bound in the statement and the sizes of its tables. If the
 * bound relies on indexes, the query plan is checked too, because the database may lack an index. Sources: SQLite,
 * EXPLAIN QUERY PLAN; The ROWID.
 */
import { BoundedCache } from '../../core/collections.js'
import { quoteSqliteTable } from './table-name.js'
import { boundOf, frameworkQuery, type Statement } from '../contract/statement.js'
import type { Connection } from './connection.js'
import { readRowBytes, type RowBytes } from './table-sizes.js'

/** Rows that a statement may examine in the main thread. They take a few milliseconds. */
const maxShortRows = 1000
/** Rows up to which a statement ends soon, so that it may use the thread for quick reads. */
const maxQuickRows = 20_000
/** Bytes that a statement may read in the main thread. They take a few milliseconds. */
const maxShortBytes = 4 * 1024 * 1024
/** Milliseconds for which the size of a table is cached. */
const sizeLifetime = 200
/** Milliseconds for which the bytes of its rows are cached. */
const bytesLifetime = 5000
const maxCachedSizes = 1000

/** Rows that a statement may examine in the main thread, whatever their bytes. */
const fewRows = 4

export type ReadCost = 'short' | 'quick' | 'long'

export class ReadCostEstimator {
  readonly #connection: Connection
  readonly #now: () => number
  readonly #usesIndex = new WeakMap<Statement, boolean>()
  readonly #rowBytes = new BoundedCache<{ largest: number; until: number }>(maxCachedSizes)
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
    if (rows > maxShortRows) return 'quick'
    return rows <= fewRows || !this.#isWide(statement, rows) ? 'short' : 'quick'
  }

  /** Whether the rows may have too many bytes for the main thread, if they are like the largest row of a sample. */
  #isWide({ tables }: Statement, rows: number): boolean {
    return tables.some((table) => rows * this.#largestRow(table) > maxShortBytes)
  }

  #largestRow(table: string): number {
    const cached = this.#rowBytes.get(table, () => ({ largest: 0, until: 0 }))
    const now = this.#now()
    if (now >= cached.until) {
      const { largest } = readRowBytes(this.#connection, table) as RowBytes
      cached.largest = largest
      cached.until = now + bytesLifetime
    }
    return cached.largest
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
  const name = quoteSqliteTable(table)
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
