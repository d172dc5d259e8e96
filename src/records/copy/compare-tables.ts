/** Counts and hashes the rows of tables, and compares two databases. */
import type { CopiedTable } from './copy-plan.js'
import { findDifferences, type RowDifference } from './find-differences.js'
import { checkRead, measureTable, readRows, type CopiedRow } from './read-rows.js'
import { formattedColumns, readingOf, type ReadSide } from './read-side.js'
import { RowHash, toPlainRow } from './row-hash.js'

export interface TableContent {
  readonly rows: number
  readonly hash: string
}

/** Hashes rows of a table, in the same form for every database. */
export class TableHash {
  rows = 0
  readonly #hash = new RowHash()
  readonly #formatted: readonly number[]

  constructor(table: CopiedTable) {
    this.#formatted = formattedColumns(table)
  }

  add(row: CopiedRow): void {
    this.rows++
    this.#hash.add(toPlainRow(row, this.#formatted))
  }

  get content(): TableContent {
    return { rows: this.rows, hash: this.#hash.toString() }
  }
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
  /** The first rows that differ. Empty if the tables are equal. */
  readonly differences: readonly RowDifference[]
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
    const differences = isEqual ? [] : await findDifferences(table, [source, target])
    comparisons.push({ name, source: one, target: other, isEqual, differences })
  }
  return comparisons
}
