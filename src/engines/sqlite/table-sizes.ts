/**
 * The approximate sizes of SQLite's tables. SQLite has no count of its rows, and its row numbers have gaps: old rows are
 * deleted, keys are imported. Small tables are counted. Of larger ones the row numbers are searched for gaps, and what lies
 * between them is estimated by how close the numbers stand. Each table costs a few dozen look-ups, whatever its size.
 */
import { type Later, after, attempt } from '../../core/later.js'
import { quote } from '../contract/ddl.js'
import type { Runner } from '../contract/engine.js'
import { ownQuestion, type Statement } from '../contract/statement.js'

/** Tables of at most so many rows are counted. */
const mostCounted = 1000
/** The rows at an end of a range by which its density is estimated. */
const rowsAtEnd = 16
/** The widest ranges are split so often to find gaps, and longer while gaps are found. */
const fewestSplits = 16
const mostSplits = 100
/** Where a range is split: not in its middle, because keys often begin again at round numbers. */
const splitAt = 0.4142
/** Numbers without rows are a gap if they are this share of a range. */
const gapShare = 1 / 8
/** The share of the estimate that may be unsure. */
const precision = 0.2

export function readSqliteSizes(
  runner: Runner,
  tables: readonly string[],
): Later<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  const next = (index: number): Later<ReadonlyMap<string, number>> => {
    const name = tables[index]
    if (name === undefined) return sizes
    const size = attempt(
      () => sizeOf(runner, name),
      // The table does not exist yet.
      () => 0,
    )
    return after(size, (rows) => {
      sizes.set(name, rows)
      return next(index + 1)
    })
  }
  return next(0)
}

function sizeOf(runner: Runner, name: string): Later<number> {
  const few = ownQuestion(`select count(*) from (select 1 from ${quote(name)} limit ?)`)
  return after(runner.run(few, [mostCounted + 1], 'first'), (row) => {
    const count = Number(row?.[0])
    if (count <= mostCounted) return count
    return after(new SizeEstimate(runner, name).read(), (size) => Math.max(count, size))
  })
}

/** Row numbers between two rows that exist, with the share of them that have rows, near both ends. */
interface Range {
  readonly first: number
  readonly last: number
  readonly atFirst: number
  readonly atLast: number
}

class SizeEstimate {
  readonly #runner: Runner
  readonly #ends: Statement
  readonly #around: Statement
  readonly #ranges = new Set<Range>()

  constructor(runner: Runner, name: string) {
    const table = quote(name)
    const far = (called: 'min' | 'max', test: string, order: string): string =>
      `(select ${called}(place) from (select rowid as place from ${table} where rowid ${test} order by rowid ${order} limit ${rowsAtEnd}))`
    this.#runner = runner
    this.#ends = ownQuestion(
      `select (select min(rowid) from ${table}), (select max(rowid) from ${table})`,
    )
    // The rows on both sides of a number, and those that end the same number of rows further away.
    this.#around = ownQuestion(
      `select ${far('min', '< ?', 'desc')}, (select max(rowid) from ${table} where rowid < ?), (select min(rowid) from ${table} where rowid >= ?), ${far('max', '>= ?', 'asc')}`,
    )
  }

  read(): Later<number> {
    return after(this.#runner.run(this.#ends, [], 'first'), (ends) => {
      const [first, last] = numbersOf(ends)
      if (first === undefined || last === undefined) return 0
      return after(this.#look(first), ([, , , afterFirst = first]) =>
        after(this.#look(last + 1), ([beforeLast = last]) => {
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
   * @param found rows that the estimate has lost by the last splits, because there are gaps instead
   */
  #split(done: number, found: number): Later<number> {
    const ranges = [...this.#ranges]
    const size = sumOf(ranges, sizeOfRange)
    const isWide = done < fewestSplits || found > precision * size
    const isGood = !isWide && sumOf(ranges, doubtOf) <= precision * size
    if (isGood || done >= mostSplits) return Math.round(size)
    const weigh = isWide ? widthOf : doubtOf
    const range = ranges.reduce((most, one) => (weigh(one) > weigh(most) ? one : most))
    const middle = Math.floor(range.first + widthOf(range) * splitAt)
    if (middle <= range.first) return Math.round(size)
    return after(this.#look(middle), ([before, last, first, behind]) => {
      const parts: Range[] = []
      if (last !== undefined && last >= range.first)
        parts.push({ ...range, last, atLast: densityOf(before ?? last, last) })
      if (first !== undefined && first <= range.last)
        parts.push({ ...range, first, atFirst: densityOf(first, behind ?? first) })
      this.#ranges.delete(range)
      for (const part of parts) this.#ranges.add(part)
      const isGap = sumOf(parts, widthOf) < (1 - gapShare) * widthOf(range)
      const gap = isGap ? sizeOfRange(range) - sumOf(parts, sizeOfRange) : 0
      // What earlier splits have found counts less and less.
      return this.#split(done + 1, found * 0.8 + gap)
    })
  }

  #look(place: number): Later<readonly (number | undefined)[]> {
    const values = [place, place, place, place]
    return after(this.#runner.run(this.#around, values, 'first'), numbersOf)
  }
}

function numbersOf(row: readonly unknown[] | undefined): (number | undefined)[] {
  return (row ?? []).map((value) => (value === null ? undefined : Number(value)))
}

/** @returns 1 where each number between two rows has a row */
function densityOf(first: number, last: number): number {
  return last <= first ? 1 : Math.min(1, (rowsAtEnd - 1) / (last - first))
}

function widthOf({ first, last }: Range): number {
  return last - first
}

function sizeOfRange(range: Range): number {
  return 1 + (widthOf(range) * (range.atFirst + range.atLast)) / 2
}

function doubtOf(range: Range): number {
  return (widthOf(range) * Math.abs(range.atFirst - range.atLast)) / 2
}

function sumOf(ranges: readonly Range[], weigh: (range: Range) => number): number {
  return ranges.reduce((sum, range) => sum + weigh(range), 0)
}
