/** Applies the changes of a live query to its rows. Format: docs/live.md. */

interface KeyedRow {
  id: unknown
}

export interface ListChanges {
  /** Complete rows. They replace the rows with their keys, and new rows are added at the end. */
  set?: KeyedRow[]
  /** Keys of removed rows. */
  gone?: unknown[]
  /** The keys of all rows, if their order is another one. */
  order?: unknown[]
}

/** @returns the changed list. The old list is not changed */
export const applyChanges = (
  before: readonly KeyedRow[],
  { set = [], gone = [], order }: ListChanges,
): unknown[] => {
  const rows = new Map(before.map((row) => [row.id, row]))
  for (const key of gone) rows.delete(key)
  for (const row of set) rows.set(row.id, row)
  return order ? order.map((key) => rows.get(key)) : [...rows.values()]
}
