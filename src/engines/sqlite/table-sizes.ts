/**
 * Estimates the sizes of tables. SQLite stores no row counts, and rowids have gaps where rows were deleted or keys
 * imported. Small tables are counted. For larger tables the range of rowids is split to find gaps, and the rows in each
 * part are estimated from the density at its ends. The bytes of rows come from a sample. Each table costs a few dozen
 * lookups, whatever its size.
 */
import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import { quote } from '../contract/quote.js'
import { quoteSqliteTable, toSqliteName } from './table-name.js'
import type { Runner, TableSize } from '../contract/engine.js'
import { frameworkQuery, type Statement } from '../contract/statement.js'

/** Tables with at most this many rows are counted. */
const maxCounted = 1000
/** Rows at an end of a range from which its density is estimated. */
const rowsAtEnd = 16
/** How often the widest range is split to find gaps. While gaps are found, up to `maxSplits` times. */
const minSplits = 16
const maxSplits = 100
/** Where a range is split. Not in the middle, because imported keys often begin at round numbers. */
const splitAt = 0.4142
/** Missing rowids count as a gap if they are at least this share of a range. */
const gapShare = 1 / 8
/** The share of the estimate that may be uncertain. */
const precision = 0.2

export function readSqliteSizes(
  runner: Runner,
  tables: readonly string[],
): MaybePromise<ReadonlyMap<string, TableSize>> {
  const sizes = new Map<string, TableSize>()
  const next = (index: number): MaybePromise<ReadonlyMap<string, TableSize>> => {
    const name = tables[index]
    if (name === undefined) return sizes
    const size = attempt(
      () => sizeOf(runner, name),
      // The table does not exist yet.
      () => 0,
    )
    return after(size, (rows) =>
      after(readRowBytes(runner, name), ({ average }) => {
        sizes.set(name, { rows, rowBytes: average })
        return next(index + 1)
      }),
    )
  }
  return next(0)
}

function sizeOf(runner: Runner, name: string): MaybePromise<number> {
  const countQuery = frameworkQuery(
    `select count(*) from (select 1 from ${quoteSqliteTable(name)} limit ?)`,
  )
  return after(runner.run(countQuery, [maxCounted + 1], 'first'), (row) => {
    const count = Number(row?.[0])
    if (count <= maxCounted) return count
    return after(new SizeEstimate(runner, name).read(), (size) => Math.max(count, size))
  })
}

/** The bytes of the values of rows. */
export interface RowBytes {
  readonly average: number
  /** The largest row of the sample. */
  readonly largest: number
}

const noBytes: RowBytes = { average: 0, largest: 0 }
/** Rows of the sample at each of its places. */
const rowsAtPlace = 8

/**
 * Measures rows at the beginning, at the end and at two places between them. The values themselves are not read, because
 * a row's header has their lengths. Source: SQLite, octet_length.
 *
 * @returns zeros for an empty or unknown table, and with SQLite before 3.43
 */
export function readRowBytes(runner: Runner, name: string): MaybePromise<RowBytes> {
  return attempt(
    () => measureRows(runner, name),
    () => noBytes,
  )
}

function measureRows(runner: Runner, name: string): MaybePromise<RowBytes> {
  const columnsQuery = frameworkQuery('select name from pragma_table_info(?)')
  return after(runner.run(columnsQuery, [toSqliteName(name)], 'rows'), (columns) => {
    if (columns.length === 0) return noBytes
    const table = quoteSqliteTable(name)
    const bytes = columns.map(([column]) => `ifnull(octet_length(${quote(String(column))}), 0)`)
    const [first, last] = [`(select min(rowid) from ${table})`, `(select max(rowid) from ${table})`]
    const rowsFrom = (start: string, order: string): string =>
      `select * from (select ${bytes.join(' + ')} as bytes from ${table} ${start} order by rowid ${order} limit ${rowsAtPlace})`
    const places = [
      rowsFrom('', 'asc'),
      ...[1, 2].map((third) =>
        rowsFrom(`where rowid >= ${first} + (${last} - ${first}) / 3 * ${third}`, 'asc'),
      ),
      rowsFrom('', 'desc'),
    ]
    const sampleQuery = frameworkQuery(
      `select avg(bytes), max(bytes) from (${places.join(' union all ')})`,
    )
    return after(runner.run(sampleQuery, [], 'first'), (row) => ({
      average: Math.round(Number(row?.[0] ?? 0)),
      largest: Number(row?.[1] ?? 0),
    }))
  })
}

/** Rowids between two existing rows. */
interface Range {
  readonly first: number
  readonly last: number
  /** The density near `first`: the share of rowids that have a row. */
  readonly atFirst: number
  readonly atLast: number
}

class SizeEstimate {
  readonly #runner: Runner
  readonly #endsQuery: Statement
  readonly #neighborsQuery: Statement
  readonly #ranges = new Set<Range>()

  constructor(runner: Runner, name: string) {
    const table = quoteSqliteTable(name)
    const distantRow = (bound: 'min' | 'max', test: string, order: string): string =>
      `(select ${bound}(position) from (select rowid as position from ${table} where rowid ${test} order by rowid ${order} limit ${rowsAtEnd}))`
    this.#runner = runner
    this.#endsQuery = frameworkQuery(
      `select (select min(rowid) from ${table}), (select max(rowid) from ${table})`,
    )
    // The nearest rows on both sides of a rowid, and the rows `rowsAtEnd` further away.
    this.#neighborsQuery = frameworkQuery(
      `select ${distantRow('min', '< ?', 'desc')}, (select max(rowid) from ${table} where rowid < ?), (select min(rowid) from ${table} where rowid >= ?), ${distantRow('max', '>= ?', 'asc')}`,
    )
  }

  read(): MaybePromise<number> {
    return after(this.#runner.run(this.#endsQuery, [], 'first'), (ends) => {
      const [first, last] = numbersOf(ends)
      if (first === undefined || last === undefined) return 0
      return after(this.#neighborsOf(first), ([, , , afterFirst = first]) =>
        after(this.#neighborsOf(last + 1), ([beforeLast = last]) => {
          const atFirst = densityOf(first, afterFirst)
          this.#ranges.add({ first, last, atFirst, atLast: densityOf(beforeLast, last) })
          return this.#split(0, 0)
        }),
      )
    })
  }

  /**
   * Splits the widest ranges, then those whose ends differ most, until the estimate is good enough.
   *
   * @param lostRows rows by which the last splits have lowered the estimate, because they found gaps
   */
  #split(done: number, lostRows: number): MaybePromise<number> {
    const ranges = [...this.#ranges]
    const size = sumOf(ranges, sizeOfRange)
    const isWide = done < minSplits || lostRows > precision * size
    const isGood = !isWide && sumOf(ranges, uncertaintyOf) <= precision * size
    if (isGood || done >= maxSplits) return Math.round(size)
    const weigh = isWide ? widthOf : uncertaintyOf
    const range = ranges.reduce((widest, one) => (weigh(one) > weigh(widest) ? one : widest))
    const middle = Math.floor(range.first + widthOf(range) * splitAt)
    if (middle <= range.first) return Math.round(size)
    return after(this.#neighborsOf(middle), ([before, last, first, afterFirst]) => {
      const parts: Range[] = []
      if (last !== undefined && last >= range.first)
        parts.push({ ...range, last, atLast: densityOf(before ?? last, last) })
      if (first !== undefined && first <= range.last)
        parts.push({ ...range, first, atFirst: densityOf(first, afterFirst ?? first) })
      this.#ranges.delete(range)
      for (const part of parts) this.#ranges.add(part)
      const isGap = sumOf(parts, widthOf) < (1 - gapShare) * widthOf(range)
      const gap = isGap ? sizeOfRange(range) - sumOf(parts, sizeOfRange) : 0
      // Older splits count less and less.
      return this.#split(done + 1, lostRows * 0.8 + gap)
    })
  }

  #neighborsOf(rowid: number): MaybePromise<readonly (number | undefined)[]> {
    const values = [rowid, rowid, rowid, rowid]
    return after(this.#runner.run(this.#neighborsQuery, values, 'first'), numbersOf)
  }
}

function numbersOf(row: readonly unknown[] | undefined): (number | undefined)[] {
  return (row ?? []).map((value) => (value === null ? undefined : Number(value)))
}

/** @returns 1 if each rowid between the two has a row */
function densityOf(first: number, last: number): number {
  return last <= first ? 1 : Math.min(1, (rowsAtEnd - 1) / (last - first))
}

function widthOf({ first, last }: Range): number {
  return last - first
}

function sizeOfRange(range: Range): number {
  return 1 + (widthOf(range) * (range.atFirst + range.atLast)) / 2
}

function uncertaintyOf(range: Range): number {
  return (widthOf(range) * Math.abs(range.atFirst - range.atLast)) / 2
}

function sumOf(ranges: readonly Range[], weigh: (range: Range) => number): number {
  return ranges.reduce((sum, range) => sum + weigh(range), 0)
}
