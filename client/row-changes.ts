/** What has become of a list of rows with `id`, as live answers tell it. Source: docs/live.md, "What is sent". */

interface Row {
  id: unknown
}

export interface RowChanges {
  /** Whole rows: in the places of those with their key, new ones at the end. */
  set?: Row[]
  gone?: unknown[]
  /** All keys, where that is not the order. */
  order?: unknown[]
}

/** The list as it is now; the one before stays as it is. */
export const applied = (
  before: readonly Row[],
  { set = [], gone = [], order }: RowChanges,
): unknown[] => {
  const rows = new Map(before.map((row) => [row.id, row]))
  for (const key of gone) rows.delete(key)
  for (const row of set) rows.set(row.id, row)
  return order ? order.map((key) => rows.get(key)) : [...rows.values()]
}
