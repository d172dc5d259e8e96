/**
 * Knows roughly how many rows each table has, to estimate the cost of queries. The numbers come from the database's
 * statistics, not from counting, and are refreshed now and then in the background: until the first answer a table
 * counts as empty.
 */
import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import type { Engine } from '../../engines/contract/engine.js'
import type { Table } from '../model/table.js'

/** How many milliseconds the sizes may be used before they are refreshed. */
const refreshInterval = 30_000

interface Basis {
  readonly engine: Engine
  readonly tables: ReadonlySet<Table>
  readonly searchLimit: number
}

export class TableSizes {
  /**
   * Changes when a table has become much larger or smaller: costs that were estimated by the old sizes must be computed
   * again.
   */
  version = 0
  /** How many matches a client's search ranks, of records that do not say it. */
  readonly searchLimit: number
  readonly #engine: Engine
  readonly #tables: ReadonlySet<Table>
  #rows: ReadonlyMap<string, number> = new Map()
  #readAt = -Infinity

  constructor({ engine, tables, searchLimit }: Basis) {
    this.#engine = engine
    this.#tables = tables
    this.searchLimit = searchLimit
  }

  /** The number of rows of a table, by its name in the database. */
  rowsOf(name: string): number {
    return this.#rows.get(name) ?? 0
  }

  /**
   * Reads the sizes again if they are old.
   *
   * @param milliseconds for which they are not old yet
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
    return after(this.#engine.tableSizes([...new Set(names)]), (rows) => {
      if (names.some((name) => isOther(this.rowsOf(name), rows.get(name) ?? 0))) this.version++
      this.#rows = rows
      return undefined
    })
  }
}

function isOther(before: number, now: number): boolean {
  return Math.abs(now - before) > 500 + before / 10
}
