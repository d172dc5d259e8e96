/**
 * Full-text search: `{ search: 'blue lamp' }` finds rows whose texts contain all of these words. A word is a run of
 * letters and digits; case does not matter. Without an order the best matches come first.
 */
import { tryParseJson } from '../../core/json.js'
import { HttpError } from '../../errors/http-error.js'
import type { TableSearch } from '../../engines/contract/table.js'
import type { Table, Condition } from '../model/table.js'
import { invalid } from './query-errors.js'
import { searchIn } from '../../sql/condition.js'
import type { Order } from '../../sql/order.js'

const maxLength = 1000
const maxTerms = 50

/**
 * @returns an empty list for a text without words: such a search matches every row
 * @throws {HttpError} 400 if it is not a text, or too long
 */
export function parseSearch(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'string' || /[\0\p{Surrogate}]/u.test(value))
    throw invalid(path, 'type', 'must be a string')
  if (value.length > maxLength)
    throw invalid(path, 'maxLength', `must have at most ${maxLength} characters`)
  const terms = [...new Set(value.match(/[\p{L}\p{Nd}\p{M}]+/gu))].filter((term) =>
    /[\p{L}\p{Nd}]/u.test(term),
  )
  if (terms.length > maxTerms)
    throw invalid(path, 'maxItems', `must have at most ${maxTerms} words`)
  return terms
}

/** The search of a table, if filters use this name for it. */
export function searchOf(table: Table, name: string): TableSearch | undefined {
  return name === 'search' ? table.search : undefined
}

/** The order by rank of the first search that all rows must match, if the query sets no other order. */
export function rankedOrder(
  order: Order,
  condition: Condition | undefined,
  isOrdered: boolean,
  maxRanked?: number,
): Order {
  const rank = isOrdered || condition === undefined ? undefined : searchIn(condition)
  if (rank === undefined) return order
  const key = `${order.key}~${maxRanked === undefined ? '' : '!'}`
  return { terms: order.terms, key, rank, maxRanked }
}

/** The default maximum number of matches that a client's search ranks. The record or the database may set another. */
export const defaultSearchLimit = 10_000

/** @param searchLimit the limit of the database, for records without their own */
export function searchLimitOf(
  { options }: Table,
  { searchLimit }: { readonly searchLimit: number },
): number {
  return options.searchLimit ?? searchLimit
}

/** @throws {HttpError} 400 `TOO_COSTLY` for a page that ends after the ranked matches */
export function checkRanked(order: Order, last: number): void {
  const { maxRanked = Infinity } = order
  // Lists read one more row, to find out whether there is a next page.
  if (last <= maxRanked + 1) return
  const message = `A search ranks at most ${maxRanked} rows, and this page ends after them. Search for more words, add a filter, or set an order.`
  const errors = [{ path: 'offset', code: 'TOO_COSTLY', message }]
  throw new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}

/** Whether a list with this filter is ordered by a search's rank, unless the query sets another order. */
export function hasSearch(table: Table, where: Readonly<Record<string, unknown>>): boolean {
  if (table.search === undefined) return false
  if (where.search !== undefined && parseSearch(where.search, 'search').length > 0) return true
  const parts = Array.isArray(where.and) ? (where.and as Readonly<Record<string, unknown>>[]) : []
  return parts.some((part) => hasSearch(table, part))
}

/** The first item of a cursor in a search's order: the second is the number of rows before the next page. */
const signature = 'search'

/** Every write may change the ranks, so a cursor of a search counts rows instead of naming a row. */
export function writeOffsetCursor(offset: number): string {
  return Buffer.from(JSON.stringify([signature, offset])).toString('base64')
}

/** @throws {HttpError} 400 if it is not a cursor of a search */
export function readOffsetCursor(cursor: unknown): number {
  const offset = offsetIn(cursor)
  if (offset !== undefined) return offset
  throw invalid('after', 'type', 'is not a cursor of this list in this order')
}

/** The number of rows that a cursor skips; 0 for cursors that contain values. */
export function skippedBy(cursor: unknown): number {
  return typeof cursor === 'string' ? (offsetIn(cursor) ?? 0) : 0
}

/** No cursor of a search is longer. */
const maxCursorLength = 100

function offsetIn(cursor: unknown): number | undefined {
  // Cursors that contain values may be long, and a query may repeat one in each field.
  if (typeof cursor === 'string' && cursor.length > maxCursorLength) return undefined
  const read = tryParseJson(Buffer.from(String(cursor), 'base64').toString())
  const [name, offset] = Array.isArray(read) ? (read as unknown[]) : []
  const isOffset = name === signature && Number.isSafeInteger(offset) && (offset as number) >= 0
  return isOffset ? (offset as number) : undefined
}
