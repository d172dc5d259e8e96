/** Whether so many rows may come along behind relations that they are counted before they are read. */
import type { AskedRelations } from './check-cost.js'
import type { TableSizes } from './table-sizes.js'

/**
 * @param mostRows what the query may cost: a row is 1
 * @returns undefined where there cannot be more, whichever rows are tied to which
 */
export function mostBehind(
  relations: AskedRelations,
  rows: number | undefined,
  sizes: TableSizes,
  mostRows: number,
): number | undefined {
  const page = rows ?? Infinity
  return mayBe(relations, { rows: page, isOnce: true }, sizes) > mostRows ? mostRows : undefined
}

/** Rows that others come behind; `isOnce`: none of them is there twice. */
interface Before {
  readonly rows: number
  readonly isOnce: boolean
}

function mayBe(relations: AskedRelations, before: Before, sizes: TableSizes): number {
  let sum = 0
  for (const [{ kind, join, target }, below] of relations) {
    const pairs = sizes.rowsOf(join?.name ?? target.name)
    const rows = kind === 'belongsTo' ? before.rows : before.isOnce ? pairs : before.rows * pairs
    const isOnce = before.isOnce && kind === 'hasMany'
    sum += rows + mayBe(below, { rows, isOnce }, sizes)
  }
  return sum
}
