/** Recognizes filters that match few rows through an index that always exists: a key, or another unique column. */
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import type { Condition } from './condition.js'

export function isByKey(condition: Condition | undefined, table: Table): boolean {
  // Reads that go together as one statement would go to every shard.
  if (table.shard !== undefined) return false
  switch (condition?.kind) {
    case 'all':
      return condition.parts.some((part) => isByKey(part, table))
    case 'compare':
      return (
        condition.operator === 'eq' &&
        condition.at === undefined &&
        isUnique(condition.codec.column, table)
      )
    case 'list':
      return !condition.orNull && condition.packed && isUnique(condition.codec.column, table)
    default:
      return false
  }
}

function isUnique(column: Column, { key, indexes }: Table): boolean {
  if (column === key) return true
  return indexes.some(
    ({ unique, columns }) => unique && columns.length === 1 && columns[0] === column,
  )
}
