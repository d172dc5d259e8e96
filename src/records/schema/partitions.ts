/** The partitions that a table should have: the current period, and some that follow. */
import type { Dialect } from '../../engines/contract/dialect.js'
import type { PartitionSchema } from '../../engines/contract/partitions.js'
import type { TablePartitionsSchema } from '../../engines/contract/table-schema.js'
import type { TablePartitions } from '../../engines/contract/table.js'
import { addUnits, periodName, periodStart } from '../model/partition-periods.js'
import type { Table } from '../model/table.js'

/** How many partitions are made in addition to the current one. */
export const defaultAhead = 3

/** A period, in milliseconds since 1970. */
export interface PartitionPeriod {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** The period with a time, and those that follow. */
export function periodsFrom(
  { every }: TablePartitions,
  time: number,
  ahead: number,
): PartitionPeriod[] {
  const start = periodStart(every, time)
  return Array.from({ length: ahead + 1 }, (_, index) => {
    const from = addUnits(every, start, index)
    return { name: periodName(every, from), from, to: addUnits(every, from, 1) }
  })
}

/** @returns the partition for a period of a table */
export function toPartitionSchema(
  table: string,
  { column }: TablePartitions,
  { name, from, to }: PartitionPeriod,
  dialect: Dialect,
): PartitionSchema {
  const bound = (time: number): string => dialect.tables.partitions?.bound(column, time) ?? ''
  return { name: `${table}_${name}`, from: bound(from), to: bound(to) }
}

/** @param now milliseconds since 1970 */
export function toPartitionsSchema(
  { type, name, partitions }: Table,
  dialect: Dialect,
  now: number,
): TablePartitionsSchema | undefined {
  if (partitions === undefined || dialect.tables.partitions === undefined) return undefined
  const table = dialect.tables.nameOf(name)
  return {
    column: partitions.column.name,
    origin: `${type.name}.${partitions.time.property}`,
    first: periodsFrom(partitions, now, defaultAhead).map((period) =>
      toPartitionSchema(table, partitions, period, dialect),
    ),
  }
}
