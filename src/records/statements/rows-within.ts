/**
 * The rows that a client may write, as a condition in the statement that writes one. If the statement does not write a
 * field of the condition, the row still matches afterwards: then one statement replaces a transaction that checks,
 * writes and checks again.
 */
import { columnsOfLeaf, leavesOf } from '../../sql/condition.js'
import type { Condition } from '../filters/condition.js'
import type { Column } from '../../engines/contract/table.js'

export interface RowsWithin {
  readonly condition: Condition
  /** The same for filters that differ in values only. */
  readonly key: string
  readonly values: readonly unknown[]
}

/** True if something is written, and it cannot change whether the row matches. */
export function staysWithin({ condition }: RowsWithin, written: readonly Column[]): boolean {
  // Behind a relation other rows decide, which may include this one.
  const depends = leavesOf(condition).some(
    (leaf) =>
      leaf.kind === 'related' || columnsOfLeaf(leaf).some((column) => written.includes(column)),
  )
  return written.length > 0 && !depends
}
