/** The columns and values of a statement that writes one row, in the driver's form. */
import { randomUUID } from 'node:crypto'
import type { TableCodec } from '../model/codec.js'
import type { RecordsContext } from './source.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import type { Sum } from './sums.js'
import { noSuchKey } from './write-faults.js'

/** Values in the order of the columns. */
export interface WriteValues {
  readonly columns: readonly Column[]
  readonly values: unknown[]
}

/** All columns; without the key if the database makes it. A UUID key is set on the record here. */
export function valuesToInsert(
  table: Table,
  codec: TableCodec,
  record: Record<string, unknown>,
): WriteValues {
  const { key, columns } = table
  if (key.generated === 'uuid') record[key.property] ??= randomUUID()
  refuseNoKeys(table, codec, record)
  const values = codec.writeRow(record)
  if (record[key.property] !== undefined) return { columns, values }
  values.splice(codec.key.index, 1)
  return { columns: columns.filter((column) => column !== key), values }
}

/**
 * The given values, with the time of the change. No columns if no values are given.
 *
 * @param values to which they are added
 * @param sums written after the values
 */
export function valuesToUpdate(
  table: Table,
  codec: TableCodec,
  record: Readonly<Record<string, unknown>>,
  clock: Pick<RecordsContext, 'now'>,
  { values = [], sums = [] }: { values?: unknown[]; readonly sums?: readonly Sum[] } = {},
): WriteValues {
  const { updatedAt } = table
  refuseNoKeys(table, codec, record)
  const columns: Column[] = []
  for (const { column, encode } of codec.columns) {
    const value = record[column.property]
    if (value === undefined) continue
    columns.push(column)
    values.push(value === null ? null : encode(value))
  }
  for (const { column, addend } of sums) {
    columns.push(column)
    values.push(addend)
  }
  if (columns.length > 0 && updatedAt !== undefined && record[updatedAt.property] === undefined) {
    columns.push(updatedAt)
    values.push(new Date(clock.now()).toISOString())
  }
  return { columns, values }
}

/**
 * What a column of keys cannot hold is no row's key.
 *
 * @throws {HttpError} 409, as the database would answer
 */
export function refuseNoKeys(
  { relations }: Table,
  { narrow }: TableCodec,
  record: Readonly<Record<string, unknown>>,
): void {
  for (const { column, holds, encode } of narrow) {
    const value = record[column.property]
    if (value === undefined || value === null || holds(encode(value))) continue
    for (const relation of relations.values())
      if (relation.kind === 'belongsTo' && relation.local === column) throw noSuchKey(relation)
  }
}
