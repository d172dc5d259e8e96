/** Tables that are partitioned by ranges of time, on databases that have partitions. */
import type { Runner } from './runner.js'
import type { TablePartitions } from './table.js'

/** A partition of a table in the database. */
export interface ActualPartition {
  /** The name of its table, with the schema if the partitioned table was named with it. */
  readonly name: string
  /** The beginning and the end in milliseconds since 1970, which may be infinite. */
  readonly from: number
  readonly to: number
  /** A detachment was interrupted, and must be completed. */
  readonly isDetaching: boolean
}

/** A partition to be made. */
export interface PartitionSchema {
  readonly name: string
  /** SQL of the values at which it begins and ends. */
  readonly from: string
  readonly to: string
}

/** The column of which partitions have ranges. */
export type PartitionColumn = Pick<TablePartitions['column'], 'isUuid' | 'storage'>

export interface PartitionSql {
  /** The value of the column at a time, in milliseconds since 1970. */
  bound(column: PartitionColumn, time: number): string
  /** A test of a timestamp `{t}` and a UUID `{k}`: the UUID begins with the timestamp. */
  readonly isTimedKey: string
  /** SQL over a timestamp `{v}`: the first UUID of its millisecond, of this or the next one, or of the next one. */
  readonly firstKey: Readonly<Record<'at' | 'notBefore' | 'after', string>>
  /** The statements that create a partition without blocking reads and writes of the table. */
  attach(table: string, partition: PartitionSchema): readonly string[]
  /** @param isOnline whether reads and writes of the table must not wait. Not inside a transaction */
  detach(table: string, partition: ActualPartition, isOnline: boolean): string
  /**
   * Changes of migrations that do not block other work: an index, and a reference that is checked afterwards.
   *
   * @returns the statements for a partitioned table in place of one; the statement itself for all others
   */
  readonly expand: (statement: string, runner: Runner) => Promise<readonly string[]>
  /** @returns `undefined` if the table does not exist, or is not partitioned */
  read(
    runner: Runner,
    table: string,
    column: PartitionColumn,
  ): Promise<readonly ActualPartition[] | undefined>
}
