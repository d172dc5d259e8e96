/**
 * Finds the rows that differ between two tables. The rows are summed in buckets by the hash of their keys, so that memory stays
 * bounded. Then only the rows of buckets that differ are read and compared.
 */
import type { CopiedTable } from './copy-plan.js'
import { measureTable, readRows, type CopiedRow } from './read-rows.js'
import { formattedColumns, readingOf, type ReadSide } from './read-side.js'
import { addHash, toPlainRow } from './row-hash.js'

export interface RowDifference {
  /** The values of the key, otherwise the place of the row in its database: `rowid 17`, `ctid (0,5)`. */
  readonly row: string
  /** The columns whose values differ. Without a key, from the most similar row. Empty if only one database has the row. */
  readonly columns: readonly string[]
  /** Where the row is. Without a key, where no equal row is in the other database. */
  readonly side: 'both' | 'source' | 'target'
}

/** The maximum number of rows that are named. */
export const maxDifferences = 10
const buckets = 65_536
/** Buckets whose rows are compared. */
const maxBuckets = 64

/** @returns the first rows that differ, at most `maxDifferences` */
export async function findDifferences(
  table: CopiedTable,
  sides: readonly [ReadSide, ReadSide],
): Promise<RowDifference[]> {
  const finder = new DifferenceFinder(table)
  const [from, to] = await Promise.all(sides.map((side) => finder.sum(side)))
  const different = new Set<number>()
  for (let bucket = 0; bucket < buckets && different.size < maxBuckets; bucket++)
    if (from?.[2 * bucket] !== to?.[2 * bucket] || from?.[2 * bucket + 1] !== to?.[2 * bucket + 1])
      different.add(bucket)
  const [source, target] = await Promise.all(sides.map((side) => finder.collect(side, different)))
  return finder.compare(source ?? noRows, target ?? noRows)
}

interface UnmatchedRow {
  /** As it is compared. */
  readonly values: CopiedRow
  readonly name: string
}

/** By key. Rows without a key are in one group. */
type RowGroups = Map<string, UnmatchedRow[]>

const noRows: RowGroups = new Map()

class DifferenceFinder {
  readonly #table: CopiedTable
  readonly #formatted: readonly number[]
  /** The positions of the columns of the key. */
  readonly #key: readonly number[]
  readonly #hash = new Uint32Array(2)

  constructor(table: CopiedTable) {
    this.#table = table
    this.#formatted = formattedColumns(table)
    this.#key = table.key.map((name) => table.columns.findIndex((column) => column.name === name))
  }

  /** @returns two sums for each bucket */
  async sum(side: ReadSide): Promise<Uint32Array> {
    const sums = new Uint32Array(2 * buckets)
    for await (const { values, bucket } of this.#read(side)) addHash(values, sums, 2 * bucket)
    return sums
  }

  async collect(side: ReadSide, different: ReadonlySet<number>): Promise<RowGroups> {
    const groups: RowGroups = new Map()
    for await (const { values, bucket, place } of this.#read(side)) {
      if (!different.has(bucket)) continue
      const key = this.#keyOf(values)
      const name = key.length > 0 ? key.map(String).join(', ') : place
      const group = JSON.stringify(key)
      groups.set(group, [...(groups.get(group) ?? []), { values, name }])
    }
    return groups
  }

  compare(source: RowGroups, target: RowGroups): RowDifference[] {
    const differences: RowDifference[] = []
    for (const key of new Set([...source.keys(), ...target.keys()])) {
      const [ones, others] = withoutEqual(source.get(key) ?? [], target.get(key) ?? [])
      for (const { values, name } of ones) {
        const other = this.#takeMostSimilar(values, others)
        const columns = other === undefined ? [] : this.#differingColumns(values, other.values)
        const side = other !== undefined && this.#key.length > 0 ? 'both' : 'source'
        differences.push({ row: name, columns, side })
      }
      for (const { name } of others) differences.push({ row: name, columns: [], side: 'target' })
      if (differences.length >= maxDifferences) break
    }
    return differences.slice(0, maxDifferences)
  }

  async *#read(side: ReadSide) {
    const { columns } = this.#table
    const reading = readingOf(this.#table, side)
    const { rowSize } = await measureTable(side.snapshot, reading)
    const isPlaced = this.#key.length === 0
    const { rowPlace } = side.dialect.bulk.exchange
    const place = { column: rowPlace, digits: 0, list: undefined }
    if (isPlaced) reading.columns.push(place)
    for await (const { rows } of readRows(side.snapshot, { ...reading, rowSize }))
      for (const row of rows) {
        const values = toPlainRow(isPlaced ? row.slice(0, columns.length) : row, this.#formatted)
        this.#hash.fill(0)
        addHash(isPlaced ? values : this.#keyOf(values), this.#hash, 0)
        const bucket = (this.#hash[0] ?? 0) % buckets
        yield { values, bucket, place: `${rowPlace.name} ${row[columns.length] ?? ''}` }
      }
  }

  #keyOf(row: CopiedRow): (string | null)[] {
    return this.#key.map((position) => row[position] ?? null)
  }

  #differingColumns(one: CopiedRow, other: CopiedRow): string[] {
    return this.#table.columns.flatMap(({ name }, index) =>
      one[index] === other[index] ? [] : [name],
    )
  }

  /** Removes the row from the list. A row without a key that has no equal value is another row. */
  #takeMostSimilar(row: CopiedRow, others: UnmatchedRow[]): UnmatchedRow | undefined {
    let [best, fewest] = [-1, this.#key.length > 0 ? Infinity : row.length]
    for (const [index, { values }] of others.entries()) {
      const count = this.#differingColumns(row, values).length
      if (count < fewest) [best, fewest] = [index, count]
    }
    return best < 0 ? undefined : others.splice(best, 1)[0]
  }
}

/** The rows of each side that the other side does not have. */
function withoutEqual(
  source: readonly UnmatchedRow[],
  target: readonly UnmatchedRow[],
): [UnmatchedRow[], UnmatchedRow[]] {
  const counts = new Map<string, number>()
  const textOf = ({ values }: UnmatchedRow): string => JSON.stringify(values)
  for (const row of target) counts.set(textOf(row), (counts.get(textOf(row)) ?? 0) + 1)
  const take = (row: UnmatchedRow): boolean => {
    const count = counts.get(textOf(row)) ?? 0
    if (count > 0) counts.set(textOf(row), count - 1)
    return count > 0
  }
  const ones = source.filter((row) => !take(row))
  // What is left in the counts has no equal row in the source.
  return [ones, target.filter(take)]
}
