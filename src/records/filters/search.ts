/**
 * Searches by words: `{ search: 'blue lamp' }` finds the rows in whose texts all of them are. A word is a run of letters and
 * digits, whatever its case. Without an order the rows that fit best come first. Source: decisions, Second storey: records, Filters.
 */
import type { Table, TableSearch } from '../model/table.js'
import type { Condition } from './condition.js'
import { invalid } from './invalid.js'
import type { Order } from './order.js'

export type SearchCondition = Extract<Condition, { readonly kind: 'search' }>

const longest = 1000
const mostWords = 50

/**
 * @returns no words for a text without any: all of none are in every row
 * @throws {HttpError} 400 for what is no text, or too much of it
 */
export function readWords(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'string' || /[\0\p{Surrogate}]/u.test(value))
    throw invalid(path, 'type', 'must be a string')
  if (value.length > longest)
    throw invalid(path, 'maxLength', `must have at most ${longest} characters`)
  const words = [...new Set(value.match(/[\p{L}\p{Nd}\p{M}]+/gu))].filter((word) =>
    /[\p{L}\p{Nd}]/u.test(word),
  )
  if (words.length > mostWords)
    throw invalid(path, 'maxItems', `must have at most ${mostWords} words`)
  return words
}

/** The search that filters of a table may ask for under a name. */
export function searchOf(table: Table, name: string): TableSearch | undefined {
  return name === 'search' ? table.search : undefined
}

/** By how well rows fit the first search that all of them must fit, where nobody says another order. */
export function rankedOrder(
  order: Order,
  condition: Condition | undefined,
  isGiven: boolean,
): Order {
  const rank = isGiven || condition === undefined ? undefined : searchIn(condition)
  return rank === undefined ? order : { terms: order.terms, key: `${order.key}~`, rank }
}

function searchIn(condition: Condition): SearchCondition | undefined {
  if (condition.kind === 'search') return condition
  if (condition.kind !== 'all') return undefined
  for (const part of condition.parts) {
    const found = searchIn(part)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether a list of such a filter is in the order of a search, where nobody says another. */
export function asksSearch(table: Table, where: Readonly<Record<string, unknown>>): boolean {
  if (table.search === undefined) return false
  if (where.search !== undefined && readWords(where.search, 'search').length > 0) return true
  const parts = Array.isArray(where.and) ? (where.and as Readonly<Record<string, unknown>>[]) : []
  return parts.some((part) => asksSearch(table, part))
}

/** The first item of a cursor in the order of a search: its second is how many rows stand before the next page. */
const signature = 'search'

/** Rows have no place of their own in such an order, which every row that is written may change: the cursor counts. */
export function writePlace(place: number): string {
  return Buffer.from(JSON.stringify([signature, place])).toString('base64')
}

/** @throws {HttpError} 400 for what is no cursor of a search */
export function readPlace(cursor: unknown): number {
  const place = placeIn(cursor)
  if (place !== undefined) return place
  throw invalid('after', 'type', 'is no cursor of this list in this order')
}

/** The rows that a cursor passes over; none where it leads to its place by values. */
export function passedBy(cursor: unknown): number {
  return typeof cursor === 'string' ? (placeIn(cursor) ?? 0) : 0
}

function placeIn(cursor: unknown): number | undefined {
  const [name, place] = readList(cursor)
  const isPlace = name === signature && Number.isSafeInteger(place) && (place as number) >= 0
  return isPlace ? (place as number) : undefined
}

function readList(cursor: unknown): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(String(cursor), 'base64').toString())
    return Array.isArray(read) ? (read as unknown[]) : []
  } catch {
    return []
  }
}
