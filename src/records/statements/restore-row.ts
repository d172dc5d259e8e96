/**
 * Restores a row of a record with `softDelete`: takes the mark of its deletion away. Rows that were deleted with it stay deleted.
 * Source: decisions, Records: writes.
 */
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import type { Instance, Table } from '../model/table.js'
import {
  changeLockedRow,
  inTransaction,
  lockRows,
  selectOne,
  type RowChange,
} from './change-row.js'
import type { Source } from './source.js'

/** Conditions and the writer of a restoration. */
type RestoreOptions = Pick<RowChange, 'rowFilter' | 'writer'>

/**
 * Runs the hooks of a write, with the deleted row as the row before.
 *
 * @returns null if no row has the key, it is not marked as deleted, or `rowFilter` excludes it
 * @throws {HttpError} 409 `CONFLICT` if another row has taken a unique value, or a row that it refers to is deleted
 */
export function restoreOne(
  table: Table,
  source: Source,
  id: Id,
  { rowFilter, writer }: RestoreOptions = {},
): MaybePromise<Instance | null> {
  const { deletedAt, type } = table
  if (deletedAt === undefined)
    throw new TypeError(
      `${type.name} has no deleted rows to restore. Write @Record({ softDelete: true }).`,
    )
  const codec = source.context.codecOf(table)
  const key = toKey(codec, id)
  if (key === undefined) return null
  const values = { [deletedAt.property]: null }
  return inTransaction(table, source, async (here) => {
    const { filter, values: slots } = selectOne(table, here, key, { values, rowFilter })
    const withDeleted = { ...filter, key: `${filter.key}D`, withDeleted: true }
    const [row] = await lockRows(table, here, { filter: withDeleted, values: slots }, 1)
    if (row === undefined) return null
    if (((codec.readRow(row) as Instance)[deletedAt.property] ?? null) === null) return null
    return changeLockedRow(table, here, { key, row, change: { values, writer, restores: true } })
  })
}
