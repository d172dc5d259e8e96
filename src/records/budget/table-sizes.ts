/** The approximate sizes of a database's tables. */

import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import type { Engine, TableSize } from '../../engines/contract/engine.js'
import type { Table } from '../model/table.js'
import type { CostBasis } from './query-cost.js'

/** Milliseconds for which the sizes are used before they are refreshed. */
const refreshInterval = 30_000

interface SizesOptions {
  readonly engine: Engine
  readonly tables: ReadonlySet<Table>
  readonly searchLimit: number
  readonly hasTrigrams: boolean
}

/**
 * The approximate number and bytes of the rows of each table, to estimate the cost of queries. The numbers come from the database's
 * statistics, not from counting, and are refreshed now and then in the background. Until the first result, a table
 * counts as empty.
 */
export class TableSizes implements CostBasis {
  /**
   * Changes when a table has become much larger or smaller, so that cached estimates must be computed again.
   */
  version = 0
  /** The number of matches that a client's search ranks, for records without their own `searchLimit`. */
  readonly searchLimit: number
  readonly hasTrigrams: boolean
  readonly #engine: Engine
  readonly #tables: ReadonlySet<Table>
  #sizes: ReadonlyMap<string, TableSize> = new Map()
  #readAt = -Infinity

  constructor({ engine, tables, searchLimit, hasTrigrams }: SizesOptions) {
    this.#engine = engine
    this.#tables = tables
    this.searchLimit = searchLimit
    this.hasTrigrams = hasTrigrams
  }

  /** The number of rows of a table, by its name in the database. */
  rowsOf(name: string): number {
    return this.#sizes.get(name)?.rows ?? 0
  }

  /** The average bytes of a row, by the table's name in the database. 0 if unknown. */
  bytesOf(name: string): number {
    return this.#sizes.get(name)?.rowBytes ?? 0
  }

  /** The number of different values of a column that has few, by the names in the database. `undefined` if unknown. */
  valuesOf(name: string, column: string): number | undefined {
    return this.#sizes.get(name)?.values?.get(column)
  }

  /**
   * Reads the sizes again if they are old.
   *
   * @param milliseconds the age up to which they are used
   */
  refresh(milliseconds = refreshInterval): void {
    if (performance.now() - this.#readAt < milliseconds) return
    void attempt<undefined>(
      () => this.read(),
      () => undefined,
    )
  }

  /** Reads the sizes now. */
  read(): MaybePromise<undefined> {
    this.#readAt = performance.now()
    const names = [...this.#tables].flatMap(({ name, relations }) => [
      name,
      ...[...relations.values()].flatMap(({ join }) => (join === undefined ? [] : [join.name])),
    ])
    return after(this.#engine.schema.sizes([...new Set(names)]), (sizes) => {
      if (names.some((name) => hasChanged(this.#sizes.get(name), sizes.get(name)))) this.version++
      this.#sizes = sizes
      return undefined
    })
  }
}

/** Whether estimates with the old size are too wrong to be used. */
function hasChanged(before = noRows, now = noRows): boolean {
  return (
    Math.abs(now.rows - before.rows) > 500 + before.rows / 10 ||
    Math.abs(now.rowBytes - before.rowBytes) > 1000 + before.rowBytes / 10
  )
}

const noRows: TableSize = { rows: 0, rowBytes: 0 }
