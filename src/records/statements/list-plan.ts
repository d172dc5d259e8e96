/** Reads the options of a repository's list, and finds its statement. */
import { readDistinct } from '../filters/distinct.js'
import { checkListOptions, readCount, type ListOptions } from '../filters/list-options.js'
import { checkRanked } from '../filters/search.js'
import { readOrder } from '../filters/order.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Table } from '../model/table.js'
import type { Plan } from '../../sql/write.js'
import { rememberDerived } from '../filters/cursor.js'
import { countOf, readCounts, type RelationCount } from '../filters/relation-counts.js'
import type { RelatedRows, RowsView } from '../filters/rows-view.js'
import { derivedColumnsOf } from '../../sql/derived.js'
import type { DerivedParts } from './plans.js'
import { readRelated, toRelatedParts } from './related-json.js'
import { selectOrdered } from './select-rows.js'
import type { RecordsContext } from './source.js'

export interface PlannedList {
  readonly plan: Plan
  readonly values: readonly unknown[]
  /** Sets counts and related rows, which were read in the same statement, on the records. */
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
  const selected = selectOrdered(table, context, options, given)
  const { values, order, passed } = selected
  checkRanked(order, (limit ?? 0) + passed + offset)
  const counts = options.counts && readCounts(table, options.counts, view !== undefined)
  const derived = counts && toDerivedParts(counts, values, view)
  const slots = { values, key: '' }
  const wanted = behind?.read(slots)
  const related = wanted && toRelatedParts(wanted, slots.key, behind?.most)
  const { count } = selected.selection
  const selection =
    count === values.length ? selected.selection : { ...selected.selection, count: values.length }
  if (limit !== undefined) values.push(limit)
  const hasOffset = options.offset !== undefined || passed > 0
  if (hasOffset) values.push(passed + offset)
  const plan = context.plansOf(table).list(selection, order, {
    hasLimit: limit !== undefined,
    hasOffset,
    distinct: distinct === undefined ? undefined : readDistinct(table, distinct, view),
    derived,
    related,
  })
  const places = derivedColumnsOf(order).length
  if (places === 0 && counts === undefined && wanted === undefined)
    return { plan, values, readBehind: undefined }
  const readBehind = (records: readonly object[], rows: readonly Row[]): void => {
    const first = table.columns.length
    for (const [index, record] of records.entries()) {
      const row = rows[index] ?? []
      if (places > 0)
        rememberDerived(record, order, row.slice(first, first + places), (of) =>
          context.codecOf(of),
        )
      for (const [place, { name }] of (counts ?? []).entries())
        Object.assign(record, { [name]: Number(row[first + places + place]) })
      if (behind === undefined || wanted === undefined) continue
      const found: RelatedRows['found'] = (of, one) => {
        behind.found(of, one)
      }
      readRelated(record, row, wanted, { context, found, most: behind.most })
    }
  }
  return { plan, values, readBehind }
}

/** Binds counts to what the client may see. Their values go behind those of the rows. */
function toDerivedParts(
  counts: readonly RelationCount[],
  values: unknown[],
  view: RowsView | undefined,
): DerivedParts {
  const slots = { values, key: '' }
  const derived = counts.map(({ relation }) => {
    slots.key += `${relation.name};`
    const counted = countOf(relation)
    return view === undefined ? counted : view.derived(counted, slots)
  })
  return { key: `#${slots.key}`, derived }
}
