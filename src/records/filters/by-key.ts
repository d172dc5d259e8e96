/** Recognizes filters that match few rows through an index that always exists: a key, or another unique column. */
import type { Column } from '../../engines/contract/table.js'
import type { SlotBound } from '../statements/builder.js'
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

/** How many rows a filter by key finds at most: as many as it names keys. */
export function boundOfKeys(condition: Condition | undefined, table: Table): SlotBound | undefined {
  if (condition?.kind === 'all') {
    const part = condition.parts.find((one) => isByKey(one, table))
    return part && boundOfKeys(part, table)
  }
  if (condition?.kind === 'compare') return 1
  if (condition?.kind !== 'list') return undefined
  const { slots } = condition
  return (values) => slots.reduce((sum, slot) => sum + lengthOf(values[slot]), 0)
}

/** How many values a list has at most, in whatever form it travels. */
export function lengthOf(packed: unknown): number {
  if (Array.isArray(packed)) return packed.length
  // `[1,2]`: two signs for each value at least.
  return typeof packed === 'string' ? Math.ceil(packed.length / 2) : 1
}
