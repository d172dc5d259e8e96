/** Reads the options of a repository's list, and plans its statement. */
import type { Row } from '../../engines/contract/engine.js'
import { HttpError } from '../../errors/http-error.js'
import { derivedColumnsOf } from '../../sql/derived.js'
import type { Plan } from '../../sql/write-statement.js'
import { rememberDerived } from '../filters/cursors.js'
import {
  checkListOptions,
  type ListOptions,
  readCount,
  readCounts,
  readDistinct,
  type RelatedQuery,
  type RelatedRows,
  type RelationCount,
  type RowsView,
  toRelationCount,
} from '../filters/list-options.js'
import { readOrder } from '../filters/order.js'
import { checkRanked } from '../filters/search.js'
import type { Instance, Relation, Table } from '../model/table.js'
import type { DerivedParts, RelatedParts } from './plans.js'
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

/** The parts for reading related rows. */
interface RelatedReading {
  readonly context: RecordsContext
  readonly maxRows?: number | undefined
  /** Receives every related row. */
  found(table: Table, record: Instance): void
}

/** Sets related rows on a record, from the columns after its own. */
function readRelated(
  record: object,
  row: Row,
  relatedQueries: readonly RelatedQuery[],
  reading: RelatedReading,
): void {
  const first = row.length - relatedQueries.length
  for (const [index, relatedQuery] of relatedQueries.entries()) {
    const columnValue = row[first + index]
    const value: unknown = typeof columnValue === 'string' ? JSON.parse(columnValue) : columnValue
    Object.assign(record, { [relatedQuery.relation.name]: toRecords(value, relatedQuery, reading) })
  }
}

function isTooMany(kind: Relation['kind'], value: unknown): boolean {
  return kind === 'belongsTo' ? Array.isArray(value) && value.length === 0 : value === null
}

function tooMany({ name }: Relation): HttpError {
  const message = `The relation ${name} has more rows than one response may include. Request fewer rows, or request the related rows on their own.`
  const errors = [{ path: 'with', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}

function toRecords(
  value: unknown,
  { relation, nested }: RelatedQuery,
  reading: RelatedReading,
): Instance | Instance[] | null {
  const { target, kind } = relation
  if (reading.maxRows !== undefined && isTooMany(kind, value)) throw tooMany(relation)
  const { readRow } = reading.context.codecOf(target)
  const bytes = target.columns.flatMap(({ storage }, index) => (storage === 'bytes' ? [index] : []))
  const read = (lists: readonly Row[]): Instance => {
    const row = lists.flat()
    for (const index of bytes)
      if (typeof row[index] === 'string') row[index] = Buffer.from(row[index], 'base64')
    const record = readRow(row) as Instance
    readRelated(record, row, nested, reading)
    reading.found(target, record)
    return record
  }
  if (kind !== 'belongsTo') return (value as Row[][]).map(read)
  return value === null || value === undefined ? null : read(value as Row[])
}

interface PlannedList {
  readonly plan: Plan
  readonly values: readonly unknown[]
  /** Sets counts and related rows, which were read in the same statement, on the records. */
  readonly setExtraValues: ((records: readonly object[], rows: readonly Row[]) => void) | undefined
}

/** @throws {HttpError} 400 `VALIDATION`; for clients also 401 or 403 */
export function planList<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  options: ListOptions<T>,
): PlannedList {
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
  const derivedCount = derivedColumnsOf(order).length
  if (derivedCount === 0 && counts === undefined && relatedQueries === undefined)
    return { plan, values, setExtraValues: undefined }
  const setExtraValues = (records: readonly object[], rows: readonly Row[]): void => {
    const first = table.columns.length
    for (const [index, record] of records.entries()) {
      const row = rows[index] ?? []
      if (derivedCount > 0)
        rememberDerived(record, order, row.slice(first, first + derivedCount), (of) =>
          context.codecOf(of),
        )
      for (const [position, { name }] of (counts ?? []).entries())
        Object.assign(record, { [name]: Number(row[first + derivedCount + position]) })
      if (relatedOptions === undefined || relatedQueries === undefined) continue
      const found: RelatedRows['found'] = (of, one) => {
        relatedOptions.found(of, one)
      }
      readRelated(record, row, relatedQueries, { context, found, maxRows: relatedOptions.maxRows })
    }
  }
  return { plan, values, setExtraValues }
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
