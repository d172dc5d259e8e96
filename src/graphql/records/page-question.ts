/**
 * Reads which rows a page is of. From its end (`last`) rows are read in the reversed order, so that either way the first
 * ones that the database finds are the page. Source: GraphQL Cursor Connections Specification, §4 and §5.
 */
import type { Condition } from '../../records/filters/condition.js'
import { behindCursor } from '../../records/filters/cursor.js'
import { invalid } from '../../records/filters/invalid.js'
import { both } from '../../sql/condition.js'
import { reversed, type Order } from '../../sql/order.js'
import { checkRanked, readPlace } from '../../records/filters/search.js'
import type { RecordsContext } from '../../records/statements/source.js'
import type { Arguments } from '../declarations.js'
import type { RecordModel } from './model.js'
import { defaultLimit, type QuestionReader } from './question.js'

export interface PageQuestion {
  /** Of the rows of all pages. */
  readonly filter: Condition | undefined
  /** Of the rows that the page is among: those between its cursors. */
  readonly condition: Condition | undefined
  readonly order: Order
  /** The order in which rows are read. */
  readonly reading: Order
  readonly count: number
  /** Read from the end. */
  readonly isBackward: boolean
  /** There is a cursor where the reading begins: something stands before it. */
  readonly isLater: boolean
  /** In the order of a search, in which rows have no place of their own: how many rows stand before the page. */
  readonly place: number | undefined
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readPageQuestion(
  model: RecordModel,
  { first, last, after, before, where, orderBy }: Arguments,
  reader: QuestionReader,
  records: RecordsContext,
): PageQuestion {
  const isBackward = isGiven(last)
  if (isBackward && isGiven(first)) throw invalid('last', 'type', 'cannot stand beside first')
  const count = isBackward ? reader.most('last', last) : reader.most('first', first ?? defaultLimit)
  const filter = reader.condition(model, where)
  const order = reader.order(model, orderBy, filter)
  if (order.rank !== undefined) {
    if (isBackward || isGiven(before))
      throw invalid('orderBy', 'required', 'is needed to go through a search from its end')
    const place = isGiven(after) ? readPlace(after) : 0
    const isLater = isGiven(after)
    // One more row says whether there is a next page.
    checkRanked(order, place + count + 1)
    return { filter, condition: filter, order, reading: order, count, isBackward, isLater, place }
  }
  const { table } = model
  const codecOf: RecordsContext['codecOf'] = (one) => records.codecOf(one)
  const backward = { terms: reversed(order.terms), key: order.key }
  const behind = isGiven(after) ? behindCursor(after, table, order, codecOf, reader) : undefined
  const ahead = isGiven(before)
    ? behindCursor(before, table, backward, codecOf, reader, 'before')
    : undefined
  reader.key += `${isBackward ? '<' : ''}${ahead === undefined ? '' : 'b'}`
  return {
    filter,
    condition: both(filter, both(behind, ahead)),
    order,
    reading: isBackward ? { ...backward, key: `<${order.key}` } : order,
    count,
    isBackward,
    isLater: (isBackward ? ahead : behind) !== undefined,
    place: undefined,
  }
}

function isGiven<T>(value: T): value is T & string {
  return value !== undefined && value !== null
}
