/**
 * The rows that a client may write, as a part of the statement that writes one. A row that was theirs is theirs afterwards
 * too, where nothing is written that the filter looks at: then one statement does what else takes a transaction that
 * looks, writes and looks again.
 */
import { columnsOfLeaf, leavesOf, type Condition } from '../filters/condition.js'
import type { Column } from '../model/table.js'

export interface RowsWithin {
  readonly condition: Condition
  /** The same for filters that differ in values only. */
  readonly key: string
  readonly values: readonly unknown[]
}

/** True where something is written, and nothing of it decides whether the row is one of these. */
export function staysWithin({ condition }: RowsWithin, written: readonly Column[]): boolean {
  // Behind a relation other rows decide, and among them may be this one again.
  const depends = leavesOf(condition).some(
    (leaf) =>
      leaf.kind === 'related' || columnsOfLeaf(leaf).some((column) => written.includes(column)),
  )
  return written.length > 0 && !depends
}
