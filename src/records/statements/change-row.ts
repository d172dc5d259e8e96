/**
 * Changes a row that must be read first: because of additions, a condition, its version, hooks, or rules for the whole
 * row. The row is locked meanwhile, so that no other change intervenes. Source: decisions, Records: writes.
 */
import { type MaybePromise, after, promise } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import { unmarked } from '../../errors/field-errors.js'
import { FilterReader, readProgramFilter } from '../filters/filter.js'
import type { Condition, Table, Instance } from '../model/table.js'
import { equals } from '../../sql/condition.js'
import { isolationOf } from '../model/write-hooks.js'
import {
  hasAddition,
  withSums,
  fitsSums,
  keyOfSums,
  readSums,
  type Sum,
  type SumsAndValues,
} from './additions.js'
import { isInTransaction } from './transaction-runners.js'
import type { PreparedFilter } from './plans.js'
import {
  withAnnouncement,
  runRows,
  canReturnPastValues,
  restoreRow,
  updateRow,
  valuesToUpdate,
} from './write-row.js'
import { changesPartOfReference } from './marked-references.js'
import { staysVisible, type VisibleRows } from './row-filter.js'
import {
  copyOf,
  isSameValue,
  runAfterCommit,
  runAfterWrite,
  runBefore,
  type HookedRow,
  type Writer,
} from './hooks.js'
import { keyValues, noShard, shardCondition } from './shard.js'
import type { Source } from './source.js'

export interface RowChange {
  /** Unchecked values by property, without the key and the version. */
  readonly values: object
  /** Update the row only if it matches this condition. */
  readonly where?: unknown
  /** Update only a row at one of these versions. */
  readonly expected?: readonly number[] | undefined
  /** The result is null and nothing is written if the row is not one of these, or might not be one afterwards. */
  readonly rowFilter?: VisibleRows | undefined
  /** The writer for hooks. Undefined: the caller of the current request. */
  readonly writer?: Writer | undefined
  /** The row is marked as deleted, and the values take the mark away. */
  readonly restores?: boolean
}

/** True if one statement suffices. */
export function isPlainChange(table: Table, source: Source, change: RowChange): boolean {
  const { expected, values } = change
  return (
    (expected === undefined || expected.length === 1) &&
    !table.hasWriteHooks &&
    // Watchers that need row values need the old ones in the write's result.
    (canReturnPastValues(table, source) ||
      !source.feed.needsColumns(table, ({ property }) => property in values)) &&
    source.context.checksOf(table).row === undefined &&
    !changesPartOfReference(table, values) &&
    (!hasAddition(table, values) || sumsOf(table, source, values) !== undefined)
  )
}

/** @returns `undefined` if the row must be read first */
function sumsOf(table: Table, { context }: Source, values: object): SumsAndValues | undefined {
  return readSums(table, context.codecOf(table), context.dialect, values)
}

const noSums: readonly Sum[] = Object.freeze([])

/** Uses one statement and reads nothing before. @returns as `changeRow` */
export function changePlainly(
  table: Table,
  source: Source,
  key: unknown,
  change: RowChange,
): MaybePromise<Instance | null> {
  const { context } = source
  const { rowFilter, where, expected } = change
  const codec = context.codecOf(table)
  const added = hasAddition(table, change.values) ? sumsOf(table, source, change.values) : undefined
  const { sums, values: newValues } = added ?? { sums: noSums, values: change.values }
  return after(context.checksOf(table).update(newValues), (record) => {
    const { columns, values } = valuesToUpdate(table, codec, record, context, { sums })
    if (rowFilter !== undefined && !staysVisible(rowFilter, columns)) return null
    if (columns.length > 0) {
      const matchingRows = readMatchingRows(table, source, change, sums)
      const summed = sums.length === 0 ? undefined : sums.map(({ column }) => column)
      const update = { columns, values, key, rowFilter: matchingRows, sums: summed, record }
      const changed = withAnnouncement(table, source, (here) => updateRow(table, here, update))
      if (expected === undefined && summed === undefined) return changed
      // The row is missing, at another version, or a sum breaks a rule. `changeRow` finds out which.
      return after(changed, (row) => row ?? changeRow(table, source, key, change))
    }
    if (where !== undefined || expected !== undefined) return changeRow(table, source, key, change)
    const plan = context.plansOf(table).find
    return after(
      runRows(table, source, { plan, values: keyValues(table, context, key), purpose: 'read' }),
      ([row]) => (row === undefined ? null : (codec.readRow(row) as Instance)),
    )
  })
}

/**
 * @param key in the driver's form
 * @returns the updated record; null if no row has the key, or it does not match
 * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`
 */
export function changeRow(
  table: Table,
  source: Source,
  key: unknown,
  change: RowChange,
): Promise<Instance | null> {
  return inTransaction(table, source, async (here) => {
    const [row] = await lockRows(table, here, selectOne(table, here, key, change), 1)
    if (row === undefined) return null
    const read = here.context.codecOf(table).readRow
    checkVersion(table, read(row) as Instance, change.expected)
    return changeLockedRow(table, here, { key, row, change })
  })
}

/** Joins the open transaction. No savepoint is needed if the work writes only one row, at its end. */
export function inTransaction<T>(
  table: Table,
  source: Source,
  work: (here: Source) => Promise<T>,
  isolation = isolationOf([table]),
): Promise<T> {
  return isolation === undefined && isInTransaction(source.runner())
    ? work(source)
    : source.atomically(work, isolation)
}

/** Rows in the order of their keys, locked until the transaction ends. */
export async function lockRows(
  table: Table,
  source: Source,
  { filter, values }: { readonly filter: PreparedFilter; readonly values: readonly unknown[] },
  limit: number,
): Promise<readonly (readonly unknown[])[]> {
  const plan = source.context.plansOf(table).lockRows(filter)
  return runRows(table, source, { plan, values: [...values, limit], purpose: 'write' })
}

export interface LockedRow {
  readonly key: unknown
  readonly row: readonly unknown[]
  readonly change: RowChange
}

/** @returns null if the client might not see the row afterwards */
export async function changeLockedRow(
  table: Table,
  source: Source,
  { key, row, change }: LockedRow,
): Promise<Instance | null> {
  const { context } = source
  const codec = context.codecOf(table)
  const before = codec.readRow(row) as Instance
  const { rowFilter, writer } = change
  const written: HookedRow = { table, source, before, writer }
  const record = await nextValues(written, before, change)
  const { columns, values } = valuesToUpdate(table, codec, record, context)
  if (rowFilter !== undefined && !staysVisible(rowFilter, columns)) return null
  if (columns.length === 0) return before
  const write = change.restores === true ? restoreRow : updateRow
  const stored = await write(table, source, {
    columns,
    values,
    key,
    rowFilter: undefined,
    record,
    before,
  })
  if (stored !== null) {
    await runAfterWrite(written, stored)
    runAfterCommit(written, stored)
  }
  return stored
}

/** The checked values to write: the caller's values and the changes of hooks, in a row that satisfies the rules. */
async function nextValues(
  written: HookedRow,
  before: Instance,
  { values }: RowChange,
): Promise<Instance> {
  const { table, source } = written
  const { update, row: checkRow } = source.context.checksOf(table)
  const record = await promise(() => update(withSums(table, before, values))).catch(
    (error: unknown) => {
      throw unmarked(error, (path) =>
        hasAddition(table, { [path]: values[path as keyof typeof values] }),
      )
    },
  )
  const hasHooks = table.hooks.beforeWrite.length > 0
  if (!hasHooks && checkRow === undefined) return record
  if (hasHooks) source.context.codecOf(table).convert(record)
  const completeRow = Object.assign(copyOf(before), record)
  setFrameworkValues(written, record, completeRow)
  if (hasHooks) {
    await runBefore(written, completeRow)
    const changedByHooks = await update(changedBy(table, { before, record, completeRow }))
    Object.assign(record, changedByHooks)
    Object.assign(completeRow, changedByHooks)
  }
  await checkRow?.(completeRow)
  return record
}

/** Sets the values that the framework writes: the time of the change and the next version. */
function setFrameworkValues(
  { table, source }: HookedRow,
  record: Instance,
  completeRow: Instance,
): void {
  // Without values nothing is written, unless a hook changes the row.
  if (Object.keys(record).length === 0) return
  const { updatedAt, version } = table
  if (updatedAt !== undefined) {
    record[updatedAt.property] ??= new Date(source.context.now()).toISOString()
    completeRow[updatedAt.property] = record[updatedAt.property]
  }
  // The statement increments the version, so the version is not among its values.
  if (version !== undefined)
    completeRow[version.property] = (completeRow[version.property] as number) + 1
}

function changedBy(
  { columns, key, version, shard, partitions }: Table,
  { before, record, completeRow }: Readonly<Record<'before' | 'record' | 'completeRow', Instance>>,
): Instance {
  const changed: Instance = {}
  for (const column of columns) {
    const { property } = column
    if (column === key || column === version || column === shard) continue
    if (column === partitions?.time || key.parts?.includes(column) === true) continue
    const now = completeRow[property]
    const then = property in record ? record[property] : before[property]
    const isOpen = typeof now === 'object' && now !== null
    // Code may have changed a value in place, here and in the record.
    const isSame = (!isOpen || !(property in record)) && isSameValue(now ?? null, then ?? null)
    if (!isSame) changed[property] = now ?? null
  }
  return changed
}

/** @throws {HttpError} 409 `CONFLICT`, with the code `version` */
export function checkVersion(
  { version, type }: Table,
  row: Instance,
  expected: readonly number[] | undefined,
): void {
  if (expected === undefined || version === undefined) return
  if (expected.includes(row[version.property] as number)) return
  // The message does not name the version, because the caller may not have the right to read it.
  const message = `This ${type.name} was changed meanwhile. Read it again.`
  const errors = [{ path: version.property, code: 'version', message }]
  throw new HttpError(409, message, { code: 'CONFLICT', errors })
}

/** The rows that the client may write and that match the condition and the version. */
function readMatchingRows(
  table: Table,
  { context }: Source,
  { rowFilter, where, expected }: RowChange,
  sums: readonly Sum[],
): VisibleRows | undefined {
  const [version] = expected ?? []
  if (where === undefined && version === undefined && sums.length === 0) return rowFilter
  const values: unknown[] = [...(rowFilter?.values ?? [])]
  const reader = new FilterReader(context, false, values)
  const parts: Condition[] = rowFilter === undefined ? [] : [rowFilter.condition]
  if (where !== undefined) parts.push(readProgramFilter(reader, table, where))
  if (version !== undefined && table.version !== undefined)
    parts.push(equals(table.version, values.push(version) - 1))
  if (sums.length > 0) parts.push(...fitsSums(sums, values))
  const key = `${rowFilter?.key ?? ''}|${reader.key}|${version === undefined ? '' : 'v'}${keyOfSums(sums)}`
  return { condition: { kind: 'all', parts }, key, values }
}

/** Selects the row with a key, if the change may change it. */
export function selectOne(
  table: Table,
  { context }: Source,
  key: unknown,
  { where, rowFilter }: RowChange,
): { filter: PreparedFilter; values: unknown[] } {
  const values: unknown[] = [...(rowFilter?.values ?? [])]
  const reader = new FilterReader(context, false, values)
  const parts: Condition[] = rowFilter === undefined ? [] : [rowFilter.condition]
  if (where !== undefined) parts.push(readProgramFilter(reader, table, where))
  parts.push(equals(table.key, values.push(key) - 1))
  const shard = shardCondition(table, context, reader)
  if (shard === undefined && table.shard !== undefined) throw noShard(table)
  if (shard !== undefined) parts.push(shard)
  const condition: Condition = { kind: 'all', parts }
  const name = `${rowFilter?.key ?? ''}|${reader.key}|1`
  return { filter: { condition, key: name, count: values.length, withDeleted: false }, values }
}
