/**
 * Plans the queries of a repository: selects rows by a filter, a client's view and the position where a page begins,
 * counts them, and lists them.
 */

import { HttpError } from '../../errors/http-error.js'
import type { Relation, Table, Condition } from '../model/table.js'
import type { Row } from '../../engines/contract/engine.js'
import type { RelatedParts, DerivedParts, Selection } from './plans.js'
import {
  type RelatedQuery,
  type RelatedRows,
  type RowsView,
  checkListOptions,
  readCount,
  type ListOptions,
  readDistinct,
  toRelationCount,
  readCounts,
  type RelationCount,
  checkRowCountOptions,
} from '../filters/list-options.js'
import type { RecordsContext, Source } from './source.js'
import { checkRanked, rankedOrder, readOffsetCursor, searchLimitOf } from '../filters/search.js'
import { readOrder, rememberDerived, afterCursor } from '../filters/order.js'
import { type Plan, arrangeValues } from '../../sql/write-statement.js'
import { derivedColumnsOf, allOf } from '../../sql/table.js'
import { attempt, type MaybePromise } from '../../core/maybe-promise.js'
import { toClientError } from './client-errors.js'
import { FilterReader, readProgramFilter } from '../filters/filter.js'
import type { Order } from '../../sql/order.js'
import { boundToShard } from './shard.js'

/** The number of rows at each end of a table that are counted for an estimate. */
const sampleSize = 500

type WithCounts<T> = Pick<ListOptions<T>, 'where' | 'withDeleted' | 'view'>

export class RowCounts<T extends object> {
  readonly #table: Table<T>
  readonly #source: Source

  constructor(table: Table<T>, source: Source) {
    this.#table = table
    this.#source = source
  }

  /** @returns `undefined` if there are more than `max` */
  async upTo(max: number, options: WithCounts<T>): Promise<number | undefined> {
    checkRowCountOptions(options)
    const { context } = this.#source
    const { selection, values } = selectRows(this.#table, context, options)
    const plan = context.plansOf(this.#table).countUpTo(selection)
    const count = await this.#count(plan, [...values, max + 1])
    return count > max ? undefined : count
  }

  /** Estimates the count from a thousand rows and the database's own estimate of the table's size. */
  async roughly(options: WithCounts<T>): Promise<number> {
    checkRowCountOptions(options)
    const { context } = this.#source
    const { name, deletedAt } = this.#table
    const rows = (await context.engine.tableSizes([name])).get(name)?.rows ?? 0
    const { selection, values } = selectRows(this.#table, context, options)
    // The first and the last rows of a sharded table belong to only one or two shards.
    if (rows <= 2 * sampleSize || this.#table.shard !== undefined) {
      return this.#count(context.plansOf(this.#table).count(selection), values)
    }
    if (selection.condition === undefined && deletedAt === undefined) return rows
    const plan = context.plansOf(this.#table).sample(selection)
    const found = await this.#count(plan, [...values, sampleSize])
    return Math.round((found / (2 * sampleSize)) * rows)
  }

  async #count(plan: Plan, values: readonly unknown[]): Promise<number> {
    const [row] = await readRows(this.#table, this.#source, plan, values)
    return Number(row?.[0])
  }
}

/** Runs a query. @throws {HttpError} the database's error, converted for clients */
export function readRows(
  table: Table,
  source: Source,
  plan: Plan,
  values: readonly unknown[],
): MaybePromise<readonly Row[]> {
  return attempt<readonly Row[]>(
    () => source.runner().run(plan.statement, arrangeValues(plan, values), 'rows'),
    (error) => {
      throw toClientError(error, table, 'read')
    },
  )
}

export interface SelectedRows {
  readonly selection: Selection
  readonly values: unknown[]
}

export interface OrderedRows extends SelectedRows {
  /** By rank if there is a search and no other order. */
  readonly order: Order
  /** The number of rows before the page, if its cursor counts them. */
  readonly skippedRows: number
}

const all: Selection = { condition: undefined, key: '', count: 0, withDeleted: false }
const allWithDeleted: Selection = { ...all, withDeleted: true }

type RequestedRows<T> = Pick<ListOptions<T>, 'where' | 'search' | 'withDeleted' | 'view'>

export function selectRows<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  { where, search, withDeleted = false, view }: RequestedRows<T>,
): SelectedRows {
  const isAll = where === undefined && view === undefined && search === undefined
  if (isAll && table.shard === undefined) {
    return { selection: withDeleted ? allWithDeleted : all, values: [] }
  }
  const reader = new FilterReader(context, view !== undefined)
  const condition = readCondition(table, context, { where, search, view }, reader)
  return toSelected(condition, reader, withDeleted)
}

/** @param requestedOrder the requested order, or the one by the key */
export function selectOrdered<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  options: ListOptions<T>,
  requestedOrder: Order,
): OrderedRows {
  const { where, search, withDeleted = false, view, after, orderBy, distinct } = options
  const selectsAll = after === undefined && where === undefined && search === undefined
  if (selectsAll && view === undefined) {
    const { selection, values } = selectRows(table, context, options)
    return { selection, values, order: requestedOrder, skippedRows: 0 }
  }
  const reader = new FilterReader(context, view !== undefined)
  const bound = view === undefined ? requestedOrder : view.order(table, requestedOrder, reader)
  const visibleCondition = readCondition(table, context, { where, search, view }, reader)
  const order = rankedOrder(
    bound,
    visibleCondition,
    orderBy !== undefined || selectsAll,
    // Searches of the program rank all matches.
    view === undefined || distinct !== undefined ? undefined : searchLimitOf(table, context),
  )
  const hasOffsetCursor = (order.rank ?? distinct) !== undefined && after !== undefined
  const cursorCondition =
    after === undefined || hasOffsetCursor
      ? undefined
      : afterCursor(after, table, order, (one) => context.codecOf(one), reader)
  const condition = allOf(visibleCondition, cursorCondition)
  const skippedRows = hasOffsetCursor ? readOffsetCursor(after) : 0
  const { selection, values } = toSelected(condition, reader, withDeleted)
  return { selection, values, order, skippedRows }
}

function readCondition<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  { where, search, view }: Pick<ListOptions<T>, 'where' | 'search' | 'view'>,
  reader: FilterReader,
): Condition | undefined {
  const searched = search === undefined ? undefined : reader.read(table, { search })
  const found =
    where === undefined
      ? undefined
      : view === undefined
        ? readProgramFilter(reader, table, where)
        : reader.read(table, where)
  const requestedCondition = allOf(searched, found)
  const bound =
    view === undefined ? requestedCondition : view.bind(table, requestedCondition, reader)
  return table.shard === undefined ? bound : boundToShard(table, context, reader, bound)
}

function toSelected(
  condition: Condition | undefined,
  { key, values }: FilterReader,
  withDeleted: boolean,
): SelectedRows {
  return { selection: { condition, key, count: values.length, withDeleted }, values }
}

/** Reads the options of a repository's list, and plans its statement. */

type Instance = Record<string, unknown>

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
