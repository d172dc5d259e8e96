/** Reads the options of a repository's list, and plans its statement. */
import { isDerived } from '../../sql/derived.js'
import {
  checkListOptions,
  type ListOptions,
  readCount,
  readCounts,
  readDistinct,
  type RelatedQuery,
  type RelationCount,
  type RowsView,
  toRelationCount,
} from '../filters/list-options.js'
import { readOrder } from '../filters/order.js'
import { checkRanked } from '../filters/search.js'
import type { Table } from '../model/table.js'
import type { DerivedParts, RelatedParts } from './plans.js'
import type { RecordsQuery } from './read-records.js'
import { selectOrdered } from './select-rows.js'
import type { RecordsContext } from './source.js'

/** @param maxRows as in `RelatedRows` */
function toRelatedParts(
  related: readonly RelatedQuery[],
  key: string,
  maxRows?: number,
): RelatedParts {
  return { key: `w${maxRows ?? ''}${shapeOf(related)}|${key}`, related, maxRows }
}

function shapeOf(relatedQueries: readonly RelatedQuery[]): string {
  return relatedQueries.map(({ relation, nested }) => `${relation.name}(${shapeOf(nested)})`).join()
}

/** @throws {HttpError} 400 `VALIDATION`; for clients also 401 or 403 */
export function planList<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  options: ListOptions<T>,
): RecordsQuery {
  const { view, distinct, related: relatedOptions } = options
  checkListOptions(options)
  const limit = options.limit === undefined ? undefined : readCount('limit', options.limit)
  const offset = readCount('offset', options.offset ?? 0)
  const requestedOrder = readOrder(table, options.orderBy, view !== undefined)
  const selected = selectOrdered(table, context, options, requestedOrder)
  const { values, order, skippedRows } = selected
  checkRanked(order, (limit ?? 0) + skippedRows + offset)
  const counts = options.counts && readCounts(table, options.counts, view !== undefined)
  const derived = counts && toDerivedParts(counts, values, view)
  const slots = { values, key: '' }
  const relatedQueries = relatedOptions?.read(slots)
  const related =
    relatedQueries && toRelatedParts(relatedQueries, slots.key, relatedOptions?.maxRows)
  const { count } = selected.selection
  const selection =
    count === values.length ? selected.selection : { ...selected.selection, count: values.length }
  if (limit !== undefined) values.push(limit)
  const hasOffset = options.offset !== undefined || skippedRows > 0
  if (hasOffset) values.push(skippedRows + offset)
  const plan = context.plansOf(table).list(selection, order, {
    hasLimit: limit !== undefined,
    hasOffset,
    distinct: distinct === undefined ? undefined : readDistinct(table, distinct, view),
    derived,
    related,
  })
  if (
    order.terms.some(({ column }) => isDerived(column)) ||
    (counts ?? relatedQueries) !== undefined
  ) {
    const columns = relatedQueries &&
      relatedOptions && { ...relatedOptions, relations: relatedQueries }
    return { plan, values, additions: { order, counts, related: columns } }
  }
  return { plan, values, additions: undefined }
}

/** Limits counts to the rows that the client may see. Their values follow the values of the rows. */
function toDerivedParts(
  counts: readonly RelationCount[],
  values: unknown[],
  view: RowsView | undefined,
): DerivedParts {
  const slots = { values, key: '' }
  const derived = counts.map(({ relation }) => {
    slots.key += `${relation.name};`
    const counted = toRelationCount(relation)
    return view === undefined ? counted : view.derived(counted, slots)
  })
  return { key: `#${slots.key}`, derived }
}
