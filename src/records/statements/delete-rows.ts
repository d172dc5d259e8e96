/**
 * Deletes one row by its key, or all rows that match a filter. Rows are read first if their version is checked, if
 * hooks run for them, or if the database's reference rules are not enough. If changes are watched, the other rows that
 * the database deletes, or that lose their reference, are found too. Source: decisions, Records: writes.
 */
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Isolation } from '../../core/transaction.js'
import { checkFilterOptions, type Id } from '../filters/list-options.js'
import type { Table, Instance } from '../model/table.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { inTransaction, lockRows, checkVersion, selectOne } from './change-row.js'
import { changeAll, selectAll } from './change-rows.js'
import { toClientError } from './client-errors.js'
import { deleteGroup, toDeleted, type RowGroup } from './delete-with-dependents.js'
import type { Writer } from './hooks.js'
import { referenceRulesOf, type RulesContext } from './reference-rules.js'
import { keyValues } from './shard.js'
import { withReadKeys } from './row-keys.js'
import type { Source } from './source.js'

/**
 * Deletes a row that need not be read before, with one statement if nobody watches other rows that go with it.
 *
 * @param key in the driver's form
 * @param version delete only a row at this version
 * @returns false if no row has the key, if it is already marked as deleted, or if it is at another version
 * @throws {HttpError} 409 `CONFLICT` if it is at another version and was read
 */
export function deleteRow(
  table: Table,
  source: Source,
  key: unknown,
  version?: number,
): MaybePromise<boolean> {
  const { context } = source
  const keys = keyValues(table, context, key)
  const hasVersion = version !== undefined
  if (hasVersion) keys.push(version)
  const values =
    table.deletedAt === undefined ? keys : [new Date(context.now()).toISOString(), ...keys]
  return after(source.feed.isFollowed(source.runner()), (isFollowed) => {
    if (isFollowed) {
      if (referenceRulesOf(table, context).dependents.length > 0) {
        const expected = hasVersion ? [version] : undefined
        return deleteChecked(table, source, key, { expected, writer: undefined })
      }
      return deleteFollowed(table, source, { values, hasVersion })
    }
    const plan = context.plansOf(table).remove([], hasVersion)
    const all = arrangeValues(plan, values)
    return after(source.runner().run(plan.statement, all, 'count'), (count) => {
      if (count > 0) source.changed({ event: 'deleted', table, ids: [key as Id] })
      return count > 0
    })
  })
}

/**
 * Deletes a row whose changes are watched. The values by which listeners decide who could see it are returned by the
 * statement.
 */
function deleteFollowed(
  table: Table,
  source: Source,
  { values, hasVersion }: { readonly values: readonly unknown[]; readonly hasVersion: boolean },
): Promise<boolean> {
  return source.atomically(async (transaction) => {
    const { feed, context } = transaction
    const columns = feed.pastColumns(table)
    const plan = context.plansOf(table).remove([table.key, ...columns], hasVersion)
    const found = await transaction
      .runner()
      .run(plan.statement, arrangeValues(plan, values), 'rows')
    const rows = withReadKeys(table, transaction, found)
    if (rows.length === 0) return false
    transaction.changed(toDeleted(table, columns, rows))
    return true
  })
}

/** @returns the number of rows that matched */
export function deleteWhere(table: Table, source: Source, where: unknown): Promise<number> {
  checkFilterOptions({ where })
  return source
    .atomically(
      async (here) => {
        const isPlain =
          !mustReadBeforeDelete(table, here.context) && !(await here.feed.isFollowed(here.runner()))
        return isPlain ? deletePlainly(table, here, where) : deleteSelected(table, here, where)
      },
      isolationToDelete(table, source.context),
    )
    .catch((error: unknown) => {
      throw toClientError(error, table, 'delete')
    })
}

/** The isolation for the hooks that run when a row is deleted: of the table, and of rows that change with it. */
export function isolationToDelete(table: Table, context: RulesContext): Isolation | undefined {
  return referenceRulesOf(table, context).isolation
}

function deletePlainly(table: Table, here: Source, where: unknown): Promise<number> {
  const { filter, values } = selectAll(table, here, where)
  const plan = here.context.plansOf(table).removeAll(filter)
  const deletionTime =
    table.deletedAt === undefined ? [] : [new Date(here.context.now()).toISOString()]
  return changeAll(table, here, { plan, values: [...values, ...deletionTime], purpose: 'delete' })
}

/** Deletes the rows by their keys. A filter names one shard at most. */
async function deleteSelected(table: Table, here: Source, where: unknown): Promise<number> {
  const { context } = here
  const { filter, values } = selectAll(table, here, where)
  const plan = context.plansOf(table).lockKeys(filter)
  const rows = await here.runner().run(plan.statement, arrangeValues(plan, values), 'rows')
  const [first] = rows
  if (first === undefined) return 0
  const keys = withReadKeys(table, here, rows).map(([key]) => key)
  return deleteGroup({ table, keys, shard: shardOf(table, here, first) }, here, {
    writer: undefined,
  })
}

/** @param row a key and the shard */
function shardOf(
  table: Table,
  { context }: Source,
  [, value]: readonly unknown[],
): RowGroup['shard'] {
  if (table.shard === undefined) return undefined
  const codec = context.codecOf(table).byProperty.get(table.shard.property)
  return { table, value: codec?.decode(value) }
}

/** True if rows of the table cannot be deleted without reading each of them. */
export function mustReadBeforeDelete(table: Table, context: RulesContext): boolean {
  return referenceRulesOf(table, context).mustRead
}

export interface DeleteConditions {
  /** Delete only a row at one of these versions. */
  readonly expected: readonly number[] | undefined
  /** The writer for hooks. Undefined: the caller of the current request. */
  readonly writer: Writer | undefined
}

/**
 * @param key in the driver's form
 * @returns false if no row has the key, or it is already marked as deleted
 * @throws {HttpError} 409 `CONFLICT` if it is at another version
 */
export function deleteChecked(
  table: Table,
  source: Source,
  key: unknown,
  { expected, writer }: DeleteConditions,
): Promise<boolean> {
  const { context } = source
  const work = async (here: Source): Promise<boolean> => {
    const [row] = await lockRows(table, here, selectOne(table, here, key, { values: {} }), 1)
    if (row === undefined) return false
    checkVersion(table, context.codecOf(table).readRow(row) as Instance, expected)
    return (await deleteGroup({ table, keys: [key], rows: [row] }, here, { writer })) > 0
  }
  const { dependents, isolation } = referenceRulesOf(table, context)
  // Rows that depend on the row are written too, all or nothing.
  return dependents.length > 0
    ? source.atomically(work, isolation)
    : inTransaction(table, source, work, isolation)
}
