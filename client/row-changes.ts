/** Applies the changes of a live query to its rows. Format: docs/live.md. */

interface KeyedRow {
  [field: string]: unknown
}

export interface ListChanges {
  /** The fields that are the key together. Default: `id`. Keys are then the JSON lists of their values. */
  key?: string[]
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
  { set = [], gone = [], order, key }: ListChanges,
): unknown[] => {
  const rows = new Map<unknown, KeyedRow>()
  for (const row of [...before, ...set])
    rows.set(key ? JSON.stringify(key.map((name) => row[name])) : row.id, row)
  for (const one of gone) rows.delete(one)
  return order ? order.map((one) => rows.get(one)) : [...rows.values()]
}
