/**
 * Pages by cursor. Pages from the end (`last`) are read in reverse order, so that the first rows of the statement are
 * always the page. Source: GraphQL Cursor Connections Specification, 4 and 5.
 */

import { type MaybePromise, after } from '../../core/maybe-promise.js'
import { type Order, reversed } from '../../sql/order.js'
import type { FieldArguments } from '../declarations.js'
import { type Caller, withGuards } from '../../records/rights/caller.js'
import { callerOf } from '../operation-caller.js'
import { defaultLimit } from '../../records/clients/operation-inputs.js'
import { writeCursor, afterCursor } from '../../records/filters/cursors.js'
import { writeOffsetCursor, checkRanked, readOffsetCursor } from '../../records/filters/search.js'
import type { RecordModel } from './model.js'
import type { QueryReader } from './query-reader.js'
import { openReading, readList, resolveCount, type RecordServices } from './resolve-records.js'
import type { Condition, Instance } from '../../records/model/table.js'
import { invalid } from '../../records/filters/query-errors.js'
import { allOf } from '../../sql/condition.js'
import type { RecordsContext } from '../../records/statements/source.js'

/** The parent value of a page's fields. */
export interface ResolvedPage {
  readonly records: readonly Instance[]
  readonly order: Order
  /** The number of rows before the page, for pages of a search, whose cursors are offsets. */
  readonly position: number | undefined
  readonly hasNext: boolean
  readonly hasPrevious: boolean
  /** Counts the rows of all pages. */
  readonly total: () => MaybePromise<number>
}

export function resolvePage(
  model: RecordModel,
  services: RecordServices,
  args: FieldArguments,
  context: unknown,
): MaybePromise<ResolvedPage> {
  return withGuards(model.table, callerOf(context), (caller) =>
    readPage(model, services, args, { context, caller }),
  )
}

function readPage(
  model: RecordModel,
  services: RecordServices,
  args: FieldArguments,
  { context, caller }: { readonly context: unknown; readonly caller: Caller },
): MaybePromise<ResolvedPage> {
  const { source, reader } = openReading(services, caller)
  const page = readRequestedPage(model, args, reader, source.context)
  const { condition, order, readingOrder, count, isBackward, startsAtCursor, position } = page
  const query = {
    where: condition,
    order: readingOrder,
    limit: reader.values.push(count + 1) - 1,
    offset: reader.values.push(position ?? 0) - 1,
  }
  return after(readList(model.table, query, reader, source), (found) => {
    const records = found.slice(0, count)
    const hasMore = found.length > count
    return {
      records: isBackward ? records.reverse() : records,
      order,
      position,
      hasNext: isBackward ? startsAtCursor : hasMore,
      hasPrevious: isBackward ? hasMore : startsAtCursor,
      total: () => resolveCount(model, services, args.where, context),
    }
  })
}

/** A record in a page. */
export interface ResolvedEdge {
  readonly node: Instance
  readonly cursor: string
}

export function edgesOf(page: ResolvedPage): ResolvedEdge[] {
  return page.records.map((node, index) => ({ node, cursor: cursorAt(page, index) }))
}

export function startCursor(page: ResolvedPage): string | null {
  return page.records.length === 0 ? null : cursorAt(page, 0)
}

export function endCursor(page: ResolvedPage): string | null {
  const { length } = page.records
  return length === 0 ? null : cursorAt(page, length - 1)
}

function cursorAt({ records, order, position }: ResolvedPage, index: number): string {
  return position === undefined
    ? writeCursor(order, records[index] as Instance)
    : writeOffsetCursor(position + index + 1)
}

export interface RequestedPage {
  /** The condition of the rows on all pages. */
  readonly filter: Condition | undefined
  /** The condition with the cursors. */
  readonly condition: Condition | undefined
  readonly order: Order
  /** The order in which rows are read. */
  readonly readingOrder: Order
  readonly count: number
  /** Whether rows are read from the end. */
  readonly isBackward: boolean
  /** Whether reading starts at a cursor, so that there are rows before it. */
  readonly startsAtCursor: boolean
  /** The number of rows before the page, for pages of a search, whose cursors are offsets. */
  readonly position: number | undefined
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readRequestedPage(
  model: RecordModel,
  { first, last, after, before, where, orderBy }: FieldArguments,
  reader: QueryReader,
  records: RecordsContext,
): RequestedPage {
  const isBackward = isPresent(last)
  if (isBackward && isPresent(first)) throw invalid('last', 'type', 'cannot be combined with first')
  const count = isBackward
    ? reader.readLimit('last', last)
    : reader.readLimit('first', first ?? defaultLimit)
  const filter = reader.condition(model, where)
  const order = reader.order(model, orderBy, filter)
  if (order.rank !== undefined) {
    if (isBackward || isPresent(before))
      throw invalid('orderBy', 'required', 'is required to read a search from its end')
    const position = isPresent(after) ? readOffsetCursor(after) : 0
    const startsAtCursor = isPresent(after)
    // One more row says whether there is a next page.
    checkRanked(order, position + count + 1)
    return {
      filter,
      condition: filter,
      order,
      readingOrder: order,
      count,
      isBackward,
      startsAtCursor,
      position,
    }
  }
  const { table } = model
  const codecOf: RecordsContext['codecOf'] = (one) => records.codecOf(one)
  const backward = { terms: reversed(order.terms), key: order.key }
  const afterCondition = isPresent(after)
    ? afterCursor(after, table, order, codecOf, reader)
    : undefined
  const beforeCondition = isPresent(before)
    ? afterCursor(before, table, backward, codecOf, reader, 'before')
    : undefined
  // The cached plan of the statement depends on the cursors that it has.
  reader.key += `${isBackward ? '<' : ''}${beforeCondition === undefined ? '' : 'b'}`
  return {
    filter,
    condition: allOf(filter, allOf(afterCondition, beforeCondition)),
    order,
    readingOrder: isBackward ? { ...backward, key: `<${order.key}` } : order,
    count,
    isBackward,
    startsAtCursor: (isBackward ? beforeCondition : afterCondition) !== undefined,
    position: undefined,
  }
}

function isPresent<T>(value: T): value is T & string {
  return value !== undefined && value !== null
}
