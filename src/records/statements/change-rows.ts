/** Changes all rows that match a filter, all or none. Source: decisions, Records: writes. */
import { after, attempt } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import { FilterReader, readProgramFilter } from '../filters/filter.js'
import type { Condition, Table, Instance } from '../model/table.js'
import { invalid } from '../filters/query-errors.js'
import { checkFilterOptions, type Id } from '../filters/list-options.js'
import { isolationOf } from '../model/write-hooks.js'
import { arrangeValues, type Plan } from '../../sql/write-statement.js'
import { changeLockedRow, lockRows } from './change-row.js'
import type { PreparedFilter } from './plans.js'
import { boundToShard, inShardOf } from './shard.js'
import type { Row } from '../../engines/contract/engine.js'
import { refusedOfStatement } from './refused-values.js'
import { nameConstraint } from './violated-constraint.js'
import { toIds, withReadKeys } from './row-keys.js'
import type { RecordsContext, Source } from './source.js'
import { hasAddition, readSums, type Sum } from './additions.js'
import { allowingSwaps, isInUniqueIndex, isUniqueViolation } from './swapped-values.js'
import { fixedColumns } from '../model/partitions.js'
import { keyOf } from '../model/record-key.js'
import { runRows, valuesToUpdate } from './write-row.js'
import { changesPartOfReference, checkUndeleted } from './marked-references.js'
import { toClientError, type StatementPurpose } from './client-errors.js'
import { markingWrite } from './write-check.js'

/** The number of rows in memory at the same time. */
const pageSize = 500

/** The rows of a filter, and how each of them changes. */
export interface FilteredChange {
  readonly where: unknown
  /** Unchecked values and sums by property. */
  readonly values: object
}

/** @throws {HttpError} 400 `VALIDATION`: the values contain the key, the version or the shard */
export function checkFilteredChange(table: Table, { where, values }: FilteredChange): void {
  checkFilterOptions({ where })
  void markingWrite(table, () => {
    for (const column of [...fixedColumns(table), table.version, table.shard]) {
      if (column === undefined || !(column.property in values)) continue
      throw invalid(column.property, 'readOnly', 'cannot be changed')
    }
  })
}

/**
 * Changes the rows with one statement.
 *
 * @returns the number of changed rows; `undefined` if they must be changed one by one
 */
export async function changeFilteredTogether(
  table: Table,
  source: Source,
  { where, values }: FilteredChange,
): Promise<number | undefined> {
  const { context } = source
  const checks = context.checksOf(table)
  if (table.hasWriteHooks || checks.row !== undefined) return undefined
  if (changesPartOfReference(table, values)) return undefined
  const sums = readSums(table, context.codecOf(table), context.dialect, values)
  if (sums === undefined) return undefined
  try {
    return await source.atomically(async (here) => {
      const isFollowed = await here.feed.follows(table, here.runner())
      const isMany = isFollowed && (await areMany(table, here, where))
      // Watchers need the row values, which are read with each row.
      if (isFollowed && !isMany && here.feed.needsRowValues(table)) return undefined
      const record = await checks.update(sums.values)
      const change = { record, sums: sums.sums, reportsRows: isFollowed && !isMany }
      return updateTogether(table, here, where, change)
    })
  } catch (error) {
    // Changing the rows one by one finds the error, or lets them exchange unique values.
    const isRefused = error instanceof HttpError && error.status === 400 && sums.sums.length > 0
    const isShift = isUniqueViolation(error) && hasUniqueSum(table, values)
    if (error instanceof SumDoesNotFit || isRefused || isShift) return undefined
    throw error
  }
}

/** Changes the rows one by one, each under a lock. @returns the number of changed rows */
export function changeFilteredEach(
  table: Table,
  source: Source,
  { where, values }: FilteredChange,
): Promise<number> {
  const isolation = isolationOf([table])
  const work = (here: Source): Promise<number> =>
    eachRow(table, here, where, async (key, row) => {
      await changeLockedRow(table, here, { key, row, change: { values } })
    })
  // A sum such as `position + 1` gives a row the unique value that another row of the call still has.
  return hasUniqueSum(table, values)
    ? allowingSwaps((inside) => source.atomically(inside, isolation), work)
    : source.atomically(work, isolation)
}

/** Whether the changes add to a column of a unique index. */
function hasUniqueSum(table: Table, changes: object): boolean {
  return table.columns.some(
    (column) =>
      isInUniqueIndex(table, column) &&
      hasAddition(table, { [column.property]: (changes as Instance)[column.property] }),
  )
}

/** A sum breaks a rule of its field, so nothing is written. */
class SumDoesNotFit extends Error {}

/** Above this number of rows, watchers get one `lost` event for the table instead of single rows. */
const maxReportedRows = 1000

async function areMany(table: Table, here: Source, where: unknown): Promise<boolean> {
  if (here.feed.hasListeners) return false
  const { filter, values } = selectAll(table, here, where)
  const plan = here.context.plansOf(table).countUpTo(filter)
  const [count] =
    (await here
      .runner()
      .run(plan.statement, arrangeValues(plan, [...values, maxReportedRows + 1]), 'first')) ?? []
  return Number(count) > maxReportedRows
}

/** Changes all rows with one statement. Hooks do not run. */
export async function updateTogether(
  table: Table,
  here: Source,
  where: unknown,
  { record, sums, reportsRows }: PlannedUpdate,
): Promise<number> {
  const { context } = here
  const written = valuesToUpdate(table, context.codecOf(table), record, context, { sums })
  if (written.columns.length === 0) return 0
  await checkUndeleted(table, here, { columns: written.columns, rows: [written.values] })
  const { filter, values } = selectAll(table, here, where)
  const returns = reportsRows ? 'key' : 'nothing'
  const summed = sums.map(({ column }) => column)
  const plan = context.plansOf(table).updateAll(filter, written.columns, summed, returns)
  const bounds = sums.flatMap(({ after: { low, high } }) => [low, high])
  const all = [...values, ...written.values, ...bounds]
  if (!reportsRows && sums.length === 0)
    return changeAll(table, here, { plan, values: all, purpose: 'write' })
  const rows = await runRows(table, here, { plan, values: all, purpose: 'write' })
  const { count, misfits } = countFits(rows, { reportsRows, hasSums: sums.length > 0, context })
  if (misfits > 0) throw new SumDoesNotFit()
  if (count === 0) return 0
  if (!reportsRows) here.changed({ event: 'lost', table, ids: [] })
  else {
    const ids = toIds(table, withReadKeys(table, here, rows)).sort(byValue)
    here.changed({ event: 'updated', table, ids })
  }
  return count
}

interface PlannedUpdate {
  readonly record: Record<string, unknown>
  readonly sums: readonly Sum[]
  /** Listeners are notified of each row. */
  readonly reportsRows: boolean
}

/** Reads whether the sums fit from the result of an update of all rows: see `boundSlots` in sql/tree.ts. */
function countFits(
  rows: readonly Row[],
  {
    reportsRows,
    hasSums,
    context: { dialect },
  }: { readonly reportsRows: boolean; readonly hasSums: boolean; readonly context: RecordsContext },
): { readonly count: number; readonly misfits: number } {
  if (!reportsRows && dialect.can.writesInWith) {
    const [[count, misfits] = []] = rows
    return { count: Number(count), misfits: Number(misfits) }
  }
  const misfits = hasSums ? rows.filter((row) => !row[row.length - 1]).length : 0
  return { count: rows.length, misfits }
}

function byValue(one: Id, other: Id): number {
  return one < other ? -1 : 1
}

/** Changes or deletes rows with one statement. */
export async function changeAll(
  table: Table,
  here: Source,
  { plan, values, purpose }: { plan: Plan; values: readonly unknown[]; purpose: StatementPurpose },
): Promise<number> {
  const sent = arrangeValues(plan, values)
  const count = await attempt<number>(
    () => here.runner().run(plan.statement, sent, 'count'),
    (error) =>
      after(nameConstraint(table, here, error), (named): number => {
        const refused = refusedOfStatement(here, plan.statement, sent)
        throw toClientError(named, table, purpose, { refused })
      }),
  )
  // A listener may begin to follow before the commit; this event tells it that there are more changes than can be
  // named.
  if (count > 0) here.changed({ event: 'lost', table, ids: [] })
  return count
}

/** Visits each row once, in the order of the keys, even if it is deleted or changed. */
export async function eachRow(
  table: Table,
  here: Source,
  where: unknown,
  work: (key: unknown, row: readonly unknown[]) => Promise<void>,
): Promise<number> {
  const codec = here.context.codecOf(table)
  let count = 0
  let last: unknown = undefined
  for (;;) {
    const rows = await lockRows(table, here, selectAll(table, here, where, last), pageSize)
    for (const row of rows) {
      const record = codec.readRow(row) as Record<string, unknown>
      last = codec.key.encode(keyOf(table.key, record))
      await (table.shard === undefined
        ? work(last, row)
        : inShardOf(table, record, () => work(last, row)))
    }
    count += rows.length
    if (rows.length < pageSize) return count
  }
}

/** @param last the key after which the rows begin, in the driver's form */
export function selectAll(
  table: Table,
  { context }: Source,
  where: unknown,
  last?: unknown,
): { filter: PreparedFilter; values: unknown[] } {
  const reader = new FilterReader(context, false)
  const programFilter = readProgramFilter(reader, table, where)
  const filter = boundToShard(table, context, reader, programFilter) ?? programFilter
  const { values } = reader
  const isFirst = last === undefined
  const parts: Condition[] = [filter]
  if (!isFirst) {
    const slot = values.push(last) - 1
    parts.push({ kind: 'compare', column: table.key, operator: 'gt', slot })
  }
  const condition: Condition = { kind: 'all', parts }
  const key = `${reader.key}${isFirst ? '' : '>'}`
  return { filter: { condition, key, count: values.length, withDeleted: false }, values }
}
