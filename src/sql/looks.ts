/** Bounds of rows as values, and how they add up: both of two, or the second for each row of the first. */
import type { RowsOf } from '../engines/contract/statement.js'

/** Rows that are looked at, and by which indexes. */
export interface Looks {
  readonly rows: (values: readonly unknown[], rowsOf: RowsOf) => number
  /** The names of those that it may go by, besides keys. */
  readonly by: readonly string[]
}

export type Counting = Looks['rows']

export const unbounded: Looks = { rows: () => Infinity, by: [] }
export const oneRow: Looks = { rows: () => 1, by: [] }
export const none: Looks = { rows: () => 0, by: [] }

export function wholeTable(name: string): Looks {
  return { rows: (_values, rowsOf) => rowsOf(name), by: [] }
}

/** Both. */
export function plus(...all: readonly Looks[]): Looks {
  return {
    rows: (values, rowsOf) => all.reduce((sum, { rows }) => sum + rows(values, rowsOf), 0),
    by: [...new Set(all.flatMap(({ by }) => by))],
  }
}

/** The second for each row of the first. */
export function times(one: Looks, other: Looks): Looks {
  if (other === oneRow) return one
  return {
    rows: (values, rowsOf) => one.rows(values, rowsOf) * other.rows(values, rowsOf),
    by: [...new Set([...one.by, ...other.by])],
  }
}

/** So few rows that the size of the table need not be asked. */
const few = 200

/** What a page with an index looks at, or the whole table where that is less. */
export function least(one: Looks, whole: Looks): Looks {
  const rows: Looks['rows'] = (values, rowsOf) => {
    const looked = one.rows(values, rowsOf)
    return looked <= few ? looked : Math.min(looked, whole.rows(values, rowsOf))
  }
  return { rows, by: one.by }
}

/** One for each value of lists, by where they stand. */
export function keysAt(places: readonly number[]): Counting {
  return (values) => places.reduce((sum, place) => sum + lengthOf(values[place]), 0)
}

/** How many values a list has at most, in whatever form it travels. */
function lengthOf(packed: unknown): number {
  if (Array.isArray(packed)) return packed.length
  // `[1,2]`: two signs for each value at least.
  return typeof packed === 'string' ? Math.ceil(packed.length / 2) : 1
}
