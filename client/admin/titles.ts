/** Loads the titles of rows by key, and finds rows by title. */
import { containsPattern } from './like-pattern.js'
import type { Params } from '../options.js'
import { request, rowsOf, statusOf } from './requests.js'
import {
  fieldOf,
  keyFieldsOf,
  keyOf,
  keyPartsOf,
  keyText,
  keyValueOf,
  titleOf,
  type RecordInfo,
  type PageRow,
} from './schema.js'

/** A row that the user can choose. */
export interface RowChoice {
  readonly key: string | number
  readonly title: string
}

/** The titles that this view has loaded. */
const titlesByRow = new Map<string, string>()

export const clearTitles = (): void => {
  titlesByRow.clear()
}

const titleKeyOf = (record: RecordInfo, key: unknown): string => `${record.name} ${String(key)}`

/** The title of a row. If it is not cached: `Ticket 7`. */
export const cachedTitle = (record: RecordInfo, key: unknown): string =>
  titlesByRow.get(titleKeyOf(record, key)) ?? `${record.one} ${keyText(record, key)}`

export const isTitleCached = (record: RecordInfo, key: unknown): boolean =>
  titlesByRow.has(titleKeyOf(record, key))

/** The fields to request: the key and the title. */
const titleFields = (record: RecordInfo): string =>
  [...new Set([...keyFieldsOf(record), record.title])].join(',')

/** Loads the titles that are not cached, 100 rows per request. */
export async function loadTitles(record: RecordInfo, keys: Iterable<unknown>): Promise<void> {
  const missing = [...new Set(keys)].filter(
    (key) => key !== null && key !== undefined && !titlesByRow.has(titleKeyOf(record, key)),
  )
  for (let from = 0; from < missing.length; from += 100) {
    const batch = missing.slice(from, from + 100).map(String)
    const params = {
      ...keyConditions(record, batch),
      fields: titleFields(record),
      count: 'none',
    }
    const { data } = await request<PageRow[]>('GET', rowsOf(record), { params })
    for (const row of data) choiceOf(record, row)
  }
}

/**
 * The conditions for the rows with these keys. The fields of a key are compared separately, so that some other rows are found
 * too. Titles that are then missing are shown as keys.
 */
function keyConditions(record: RecordInfo, keys: readonly string[]): Params {
  if (record.keyFields === undefined)
    return { [`${record.key ?? ''}.in`]: keys.join(','), limit: keys.length }
  const parts = keys.map((key) => keyPartsOf(record, key))
  const conditions = record.keyFields.map((name): [string, string[]] => [
    `${name}.in`,
    [...new Set(parts.map((one) => String(one[name])))],
  ])
  return { ...Object.fromEntries(conditions), limit: 1000 }
}

/** The key and the title of a row. Caches the title. */
export function choiceOf(record: RecordInfo, row: PageRow): RowChoice {
  const title = titleOf(record, row)
  const key = keyValueOf(record, row)
  titlesByRow.set(titleKeyOf(record, key), title)
  return { key, title }
}

/** `findRows` returns at most this many rows. */
export const maxChoices = 12

/**
 * Finds rows whose title starts with the text or that contain its words. Without a match, finds titles that contain the text.
 *
 * @param conditions of all rows that are found
 */
export async function findRows(
  record: RecordInfo,
  text: string,
  signal: AbortSignal,
  conditions: RowFilter = {},
): Promise<RowChoice[]> {
  const find = async (...filters: readonly RowFilter[]): Promise<RowChoice[]> => {
    const rows = await Promise.all(
      filters.map((filter) => requestRows(record, { ...filter, ...conditions }, signal)),
    )
    const rowsByKey = new Map(rows.flat().map((row) => [keyOf(record, row), row]))
    return [...rowsByKey.values()].slice(0, maxChoices).map((row) => choiceOf(record, row))
  }
  const { title } = record
  const query = text.trim()
  if (query === '') return find({})
  if (fieldOf(record, title)?.kind.isFreeText === false) return find({ [title]: query })
  // Prefixes are case-sensitive, and most titles start with a capital letter.
  const prefixes = new Set([query, query.charAt(0).toUpperCase() + query.slice(1)])
  const found = await find(
    ...[...prefixes].map((prefix) => ({ [`${title}.startsWith`]: prefix })),
    ...(record.search === true ? [{ search: query }] : []),
  )
  return found.length > 0 ? found : find({ [`${title}.ilike`]: containsPattern(query) })
}

/** Query parameters that rows must match. */
export type RowFilter = Readonly<Record<string, string>>

async function requestRows(
  record: RecordInfo,
  filter: RowFilter,
  signal: AbortSignal,
): Promise<PageRow[]> {
  const params = { fields: titleFields(record), limit: maxChoices, count: 'none', ...filter }
  try {
    const { data } = await request<PageRow[]>('GET', rowsOf(record), { params, signal })
    return data
  } catch (error) {
    // A text that is not a valid value of the field has no matches.
    if (statusOf(error) === 400) return []
    throw error
  }
}
