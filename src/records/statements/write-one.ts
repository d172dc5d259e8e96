/**
 * Creates, updates and deletes one row by its key: with one statement if the record allows it, otherwise under a lock. All rows
 * that are written one by one are written here. Source: decisions, Records: writes.
 */
import { after, attempt, type MaybePromise } from '../../core/maybe-promise.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import type { Table, Instance } from '../model/table.js'
import {
  changePlainly,
  changeRow,
  inTransaction,
  isPlainChange,
  type RowChange,
} from './change-row.js'
import { toClientError, type Referrer } from './client-errors.js'
import {
  deleteChecked,
  deleteRow,
  mustReadBeforeDelete,
  type DeleteConditions,
} from './delete-rows.js'
import { createHooked, type Writer } from './hooks.js'
import { withoutShard, withShard } from './shard.js'
import type { Source } from './source.js'
import { findReferrer } from './violated-constraint.js'
import { readChange } from './write-options.js'
import { insertRow, withAnnouncement } from './write-row.js'

/**
 * Inserts a row. Returns no promise if the database needs none.
 *
 * @param input unchecked values by property
 * @param writer the caller that hooks receive; default, the caller of the current request
 */
export function createOne(
  table: Table,
  source: Source,
  input: object,
  writer?: Writer,
): MaybePromise<Instance> {
  const values = table.shard === undefined ? input : withShard(table, input)
  if (table.hasWriteHooks)
    return inTransaction(table, source, (here) => createHooked(table, here, values, writer))
  const checked = source.context.checksOf(table).create(values)
  return after(checked, (record) =>
    withAnnouncement(table, source, (here) => insertRow(table, here, record)),
  )
}

/**
 * Changes the named fields of a row. Returns no promise if the database needs none.
 *
 * @param values unchecked values by property; a version among them must equal the row's
 * @returns null if no row has the key, or it does not match the conditions
 */
export function updateOne(
  table: Table,
  source: Source,
  id: Id,
  values: object,
  conditions: Omit<RowChange, 'values'> = noConditions,
): MaybePromise<Instance | null> {
  const codec = source.context.codecOf(table)
  const key = toKey(codec, id)
  if (key === undefined) return null
  const change = readChange(table, codec, key, withoutShard(table, values), conditions)
  const changeOne = isPlainChange(table, source, change) ? changePlainly : changeRow
  return changeOne(table, source, key, change)
}

const noConditions: Omit<RowChange, 'values'> = Object.freeze({})

/** Conditions and reports of a deletion. */
interface DeletionOptions extends Partial<DeleteConditions> {
  /** Whether an error may name the record that still refers to the row. Default: it may. */
  readonly canNameReferrer?: ((referrer: Referrer) => boolean) | undefined
}

/**
 * Deletes a row. Returns no promise if the database needs none.
 *
 * @returns false if no row has the key, or the row is already marked as deleted
 */
export function deleteOne(
  table: Table,
  source: Source,
  id: Id,
  { canNameReferrer, expected, writer }: DeletionOptions = noConditions,
): MaybePromise<boolean> {
  const key = toKey(source.context.codecOf(table), id)
  if (key === undefined) return false
  return attempt<boolean>(
    () =>
      mustReadBeforeDelete(table, source.context)
        ? deleteChecked(table, source, key, { expected, writer })
        : deletePlainly(table, source, key, expected),
    (error) =>
      after(findReferrer(table, source, error, key), (referrer): boolean => {
        const isNamed = referrer !== undefined && (canNameReferrer?.(referrer) ?? true)
        throw toClientError(error, table, 'delete', isNamed ? { referrer } : {})
      }),
  )
}

/** Deletes a row at one of the versions, with one statement if there is only one. */
function deletePlainly(
  table: Table,
  source: Source,
  key: unknown,
  expected: readonly number[] | undefined,
): MaybePromise<boolean> {
  if (expected === undefined) return deleteRow(table, source, key)
  const read = (): MaybePromise<boolean> =>
    deleteChecked(table, source, key, { expected, writer: undefined })
  const [version] = expected
  if (expected.length !== 1 || version === undefined) return read()
  // If no row was deleted, it is missing or at another version. Reading it finds out which.
  return after(deleteRow(table, source, key, version), (isDeleted) => isDeleted || read())
}
