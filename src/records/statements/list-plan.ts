/** Reads the options of a repository's list, and finds its statement. */
import { readDistinct } from '../filters/distinct.js'
import { checkListOptions, readCount, type ListOptions } from '../filters/list-options.js'
import { checkRanked } from '../filters/search.js'
import { readOrder } from '../filters/order.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Table } from '../model/table.js'
import type { Plan } from '../../sql/write.js'
import type { RelatedRows } from '../filters/rows-view.js'
import { readRelated, toRelatedParts } from './related-json.js'
import { selectOrdered } from './select-rows.js'
import type { RecordsContext } from './source.js'

export interface PlannedList {
  readonly plan: Plan
  readonly values: readonly unknown[]
  /** Sets related rows, which were read in the same statement, on the records. */
  readonly readBehind: ((records: readonly object[], rows: readonly Row[]) => void) | undefined
}

/** @throws {HttpError} 400 `VALIDATION`; for clients also 401 or 403 */
export function planList<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  options: ListOptions<T>,
): PlannedList {
  const { view, distinct, related: behind } = options
  checkListOptions(options)
  const limit = options.limit === undefined ? undefined : readCount('limit', options.limit)
  const offset = readCount('offset', options.offset ?? 0)
  const given = readOrder(table, options.orderBy, view !== undefined)
  view?.order(table, given)
  const selected = selectOrdered(table, context, options, given)
  const { values, order, passed } = selected
  checkRanked(order, (limit ?? 0) + passed + offset)
  const slots = { values, key: '' }
  const wanted = behind?.read(slots)
  const related = wanted && toRelatedParts(wanted, slots.key, behind?.most)
  const selection =
    related === undefined ? selected.selection : { ...selected.selection, count: values.length }
  if (limit !== undefined) values.push(limit)
  const hasOffset = options.offset !== undefined || passed > 0
  if (hasOffset) values.push(passed + offset)
  const plan = context.plansOf(table).list(selection, order, {
    hasLimit: limit !== undefined,
    hasOffset,
    distinct: distinct === undefined ? undefined : readDistinct(table, distinct, view),
    related,
  })
  const readBehind =
    behind &&
    wanted &&
    ((records: readonly object[], rows: readonly Row[]): void => {
      readAll({ records, rows, wanted, behind, context })
    })
  return { plan, values, readBehind }
}

function readAll({
  records,
  rows,
  wanted,
  behind,
  context,
}: {
  readonly records: readonly object[]
  readonly rows: readonly Row[]
  readonly wanted: ReturnType<RelatedRows['read']>
  readonly behind: RelatedRows
  readonly context: RecordsContext
}): void {
  const found: RelatedRows['found'] = (of, record) => {
    behind.found(of, record)
  }
  for (const [index, record] of records.entries())
    readRelated(record, rows[index] ?? [], wanted, { context, found, most: behind.most })
}
