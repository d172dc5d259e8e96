/** Reads the options of a repository's list, and plans its statement. */
import { isDerived } from '../../sql/derived.js'
import type { Selection } from '../../sql/tree.js'
import {
  checkListOptions,
  type ListOptions,
  readCount,
  readDistinct,
  type RelationCount,
  type RowsView,
  type Slots,
  toRelationCount,
} from '../filters/list-options.js'
import { splitAdditions, type Additions } from './apart.js'
import { readOrder } from '../filters/order.js'
import { checkRanked } from '../filters/search.js'
import type { Relation, Table } from '../model/table.js'
import type { ListSelection } from './plans.js'
import type { RecordsQuery } from './read-records.js'
import { selectOrdered } from './select-rows.js'
import type { RecordsContext } from './source.js'

/** @throws {HttpError} 400 `VALIDATION`; for clients also 401 or 403 */
export function planList<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  options: ListOptions<T>,
): RecordsQuery & { readonly apart: Additions | undefined } {
  const { view, distinct, related, total } = options
  checkListOptions(options)
  const limit = options.limit === undefined ? undefined : readCount('limit', options.limit)
  const offset = readCount('offset', options.offset ?? 0)
  const requestedOrder = readOrder(table, options.orderBy, view !== undefined)
  const selected = selectOrdered(table, context, options, requestedOrder)
  const { values, order, skippedRows } = selected
  checkRanked(order, (limit ?? 0) + skippedRows + offset)
  const { together, apart } = splitAdditions(table, options, context.dialect)
  const additional = readSelection(together, options, values)
  const { count } = selected.filter
  const filter =
    count === values.length ? selected.filter : { ...selected.filter, count: values.length }
  if (limit !== undefined) values.push(limit)
  const hasOffset = options.offset !== undefined || skippedRows > 0
  if (hasOffset) values.push(skippedRows + offset)
  if (total?.max !== undefined) values.push(total.max + 1)
  const plan = context.plansOf(table).list(filter, order, {
    hasLimit: limit !== undefined,
    hasOffset,
    distinct: distinct === undefined ? undefined : readDistinct(table, distinct, view),
    selected: additional,
    reading: limit === undefined || distinct !== undefined ? undefined : selected.reading,
    total: total && { ...selected.allPages, hasLimit: total.max !== undefined },
  })
  const isMore = additional !== undefined || total !== undefined
  if (!isMore && !order.terms.some(({ column }) => isDerived(column)))
    return { plan, values, additions: undefined, apart }
  const { selection, maxRows } = additional ?? {}
  const found = related?.found
  return { plan, values, additions: { order, selection, maxRows, found, total }, apart }
}

/** Reads which values the list has in addition to the columns of its rows. Their slots follow those of the rows. */
function readSelection(
  additions: Additions,
  { counts: names, related, view }: Pick<ListOptions<never>, 'counts' | 'related' | 'view'>,
  values: unknown[],
): ListSelection | undefined {
  if (names === undefined && related === undefined) return undefined
  const slots = { values, key: '#' }
  const counts = selectCounts(additions.counts, view, slots)
  const relations = related === undefined ? [] : related.read(additions.relations, slots)
  const maxRows = related?.maxRows
  const key = `${slots.key}|${maxRows ?? ''}${shapeOf(relations)}`
  return { key, selection: [...counts, ...relations], maxRows }
}

/** Limits counts to the rows that the client may see. */
function selectCounts(
  counts: readonly RelationCount[],
  view: RowsView | undefined,
  slots: Slots,
): Selection<Relation> {
  return counts.map(({ relation, name: key }) => {
    slots.key += `${relation.name};`
    const counted = toRelationCount(relation)
    const derived = view === undefined ? counted : view.derived(counted, slots)
    return { kind: 'count', key, derived }
  })
}

function shapeOf(selection: Selection): string {
  return selection
    .map((entry) => `${entry.key}(${entry.kind === 'relation' ? shapeOf(entry.selection) : ''})`)
    .join()
}
