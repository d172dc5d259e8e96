/** How a table of a copy is read from the source or from the target. */
import type { DatabaseSnapshot } from '../../engines/contract/exchange.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { CopiedTable } from './copy-plan.js'

/** One side of a comparison. */
export interface ReadSide {
  readonly snapshot: DatabaseSnapshot
  readonly dialect: Dialect
  /** Whether it is the source, whose columns may have other types. */
  readonly isSource: boolean
}

/** @returns the positions of JSON that one of the databases formats */
export function formattedColumns({ columns }: CopiedTable): number[] {
  return columns.flatMap(({ isFormatted }, index) => (isFormatted ? [index] : []))
}

/** @returns the part of a table that readers need */
export function readingOf(table: CopiedTable, { dialect, isSource }: Omit<ReadSide, 'snapshot'>) {
  const columns = table.columns.map(({ source, target, digits, list }) => ({
    column: isSource ? source : target,
    digits,
    list,
  }))
  const [name, key] = isSource ? [table.sourceName, table.key] : [table.name, table.targetKey]
  return { dialect, table: name, columns, key }
}
