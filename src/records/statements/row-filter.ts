/** Limits the statement of a write to the rows that its client may see. */
import type { Column } from '../../engines/contract/table.js'
import type { Condition } from '../model/table.js'
import { columnsOfLeaf, leavesOf } from '../../sql/condition.js'

/**
 * The rows that a client may write, as a condition in the statement that writes one. If the statement does not write a
 * field of the condition, the row still matches afterwards. Then one statement replaces a transaction that checks,
 * writes and checks again.
 */
export interface VisibleRows {
  readonly condition: Condition
  /** Equal for filters that differ in values only. */
  readonly key: string
  readonly values: readonly unknown[]
}

/** True if something is written and the row is certain to match afterwards. */
export function staysVisible({ condition }: VisibleRows, written: readonly Column[]): boolean {
  // A condition through a relation depends on other rows, which may include this one.
  const depends = leavesOf(condition).some(
    (leaf) =>
      leaf.kind === 'related' || columnsOfLeaf(leaf).some((column) => written.includes(column)),
  )
  return written.length > 0 && !depends
}
