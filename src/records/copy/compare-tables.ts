/** Counts and hashes the rows of tables, and compares two databases. */
import type { DatabaseSnapshot } from '../../engines/contract/exchange.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { CopiedTable } from './copy-plan.js'
import { checkRead, measureTable, readRows, type CopiedRow } from './read-rows.js'
import { RowHash, toPlainJson } from './row-hash.js'

export interface TableContent {
  readonly rows: number
  readonly hash: string
}

/** One side of a comparison. */
export interface ReadSide {
  readonly snapshot: DatabaseSnapshot
  readonly dialect: Dialect
  /** Whether it is the source, whose columns may have other types. */
  readonly isSource: boolean
}

/** Hashes rows of a table, in the same form for every database. */
export class TableHash {
  rows = 0
  readonly #hash = new RowHash()
  /** The positions of JSON that one of the databases formats. */
  readonly #formatted: readonly number[]

  constructor({ columns }: CopiedTable) {
    this.#formatted = columns.flatMap(({ isFormatted }, index) => (isFormatted ? [index] : []))
  }

  add(row: CopiedRow): void {
    this.rows++
    this.#hash.add(this.#formatted.length === 0 ? row : this.#toPlain(row))
  }

  get content(): TableContent {
    return { rows: this.rows, hash: this.#hash.toString() }
  }

  #toPlain(row: CopiedRow): CopiedRow {
    return row.map((value, index) =>
      value !== null && this.#formatted.includes(index) ? toPlainJson(value) : value,
    )
  }
}

/** @returns the part of a table that readers need */
export function readingOf(table: CopiedTable, { dialect, isSource }: Omit<ReadSide, 'snapshot'>) {
  const columns = table.columns.map(({ source, target, digits }) => ({
    column: isSource ? source : target,
    digits,
  }))
  const [name, key] = isSource ? [table.sourceName, table.key] : [table.name, table.targetKey]
  return { dialect, table: name, columns, key }
}

/** @param onRows called after each batch with the number of rows so far */
export async function hashTable(
  table: CopiedTable,
  side: ReadSide,
  onRows: (rows: number) => void = () => undefined,
): Promise<TableContent> {
  const reading = readingOf(table, side)
  const extent = await measureTable(side.snapshot, reading)
  const hash = new TableHash(table)
  for await (const { rows } of readRows(side.snapshot, { ...reading, rowSize: extent.rowSize })) {
    for (const row of rows) hash.add(row)
    onRows(hash.rows)
  }
  checkRead(table.name, hash.rows, extent)
  return hash.content
}

export interface TableComparison {
  readonly name: string
  readonly source: TableContent
  readonly target: TableContent
  readonly isEqual: boolean
}

/** How far a comparison is, in rows. */
export interface CompareProgress {
  readonly step: 'compare'
  readonly table: string
  readonly done: number
  readonly total: number
  readonly allDone: number
  readonly allTotal: number
}

/** @param contents what is known of tables of the source already */
export async function compareTables(
  tables: readonly CopiedTable[],
  [source, target]: readonly [ReadSide, ReadSide],
  onProgress: (progress: CompareProgress) => void = () => undefined,
  contents: ReadonlyMap<string, TableContent> = new Map(),
): Promise<TableComparison[]> {
  const totals = new Map<string, number>()
  for (const table of tables) {
    const known = contents.get(table.name)
    const { rows } = known ?? (await measureTable(source.snapshot, readingOf(table, source)))
    totals.set(table.name, rows)
  }
  const allTotal = [...totals.values()].reduce((sum, rows) => sum + rows, 0)
  const comparisons: TableComparison[] = []
  let before = 0
  for (const table of tables) {
    const { name } = table
    const total = totals.get(name) ?? 0
    const onRows = (done: number): void => {
      onProgress({ step: 'compare', table: name, done, total, allDone: before + done, allTotal })
    }
    // Both databases work at the same time.
    const [one, other] = await Promise.all([
      contents.get(name) ?? hashTable(table, source),
      hashTable(table, target, onRows),
    ])
    before += total
    const isEqual = one.rows === other.rows && one.hash === other.hash
    comparisons.push({ name, source: one, target: other, isEqual })
  }
  return comparisons
}
