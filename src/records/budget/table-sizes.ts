/**
 * Roughly how many rows each table has, for judging what a question makes the database do. Read now and then, never by
 * counting, and never waited for: until the first answer is there a table counts as empty.
 */
import { type Later, after, attempt } from '../../core/later.js'
import type { Engine } from '../engines/engine.js'
import type { Table } from '../model/table.js'

/** Milliseconds that what was read is good for. */
const goodFor = 30_000

export class TableSizes {
  /** Another number once a table has become much larger or smaller: what was judged by the old sizes is to be judged anew. */
  version = 0
  readonly #engine: Engine
  readonly #tables: ReadonlySet<Table>
  #rows: ReadonlyMap<string, number> = new Map()
  #readAt = -Infinity

  constructor(engine: Engine, tables: ReadonlySet<Table>) {
    this.#engine = engine
    this.#tables = tables
  }

  /** Rows of a table, by its name in the database. */
  rowsOf(name: string): number {
    return this.#rows.get(name) ?? 0
  }

  /** Reads the sizes again where they are old. */
  refresh(): void {
    if (performance.now() - this.#readAt < goodFor) return
    void attempt<undefined>(
      () => this.read(),
      () => undefined,
    )
  }

  /** Reads the sizes now. */
  read(): Later<undefined> {
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
