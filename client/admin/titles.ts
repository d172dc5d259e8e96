/** Looks up titles of rows by key, and finds rows by title. */
import { request, rowsOf, statusOf } from './requests.js'
import { fieldOf, keyOf, titleOf, type RecordInfo, type PageRow } from './schema.js'

export interface RowChoice {
  readonly key: string | number
  readonly title: string
}

/** Titles that this view has looked up. */
const titlesByRow = new Map<string, string>()

export const clearTitles = (): void => {
  titlesByRow.clear()
}

const titleKeyOf = (record: RecordInfo, key: unknown): string => `${record.name} ${String(key)}`

export const cachedTitle = (record: RecordInfo, key: unknown): string =>
  titlesByRow.get(titleKeyOf(record, key)) ?? `${record.one} ${String(key)}`

export const isTitleCached = (record: RecordInfo, key: unknown): boolean =>
  titlesByRow.has(titleKeyOf(record, key))

/** The fields to request: the key and the title. */
const fields = (record: RecordInfo): string => [...new Set([record.key, record.title])].join(',')

/** Looks up the titles that are not cached, 100 rows per request. */
export async function lookUp(record: RecordInfo, keys: Iterable<unknown>): Promise<void> {
  const missing = [...new Set(keys)].filter(
    (key) => key !== null && key !== undefined && !titlesByRow.has(titleKeyOf(record, key)),
  )
  for (let from = 0; from < missing.length; from += 100) {
    const batch = missing.slice(from, from + 100).map(String)
    const params = {
      [`${record.key}.in`]: batch.join(','),
      fields: fields(record),
      limit: batch.length,
      count: 'none',
    }
    const { data } = await request<PageRow[]>('GET', rowsOf(record), { params })
    for (const row of data) cacheTitle(record, row)
  }
}

export function cacheTitle(record: RecordInfo, row: PageRow): RowChoice {
  const title = titleOf(record, row)
  titlesByRow.set(titleKeyOf(record, row[record.key]), title)
  return { key: row[record.key] as string | number, title }
}

const maxChoices = 12

/** Finds rows whose title starts with the text or that contain its words. Without a match, finds titles that contain the text. */
export async function findRows(
  record: RecordInfo,
  text: string,
  signal: AbortSignal,
): Promise<RowChoice[]> {
  const shared = { fields: fields(record), limit: maxChoices, count: 'none' }
  const find = async (params: Record<string, string>): Promise<PageRow[]> => {
    try {
      return (
        await request<PageRow[]>('GET', rowsOf(record), {
          params: { ...shared, ...params },
          signal,
        })
      ).data
    } catch (error) {
      // A text that is not a valid value of the field has no matches.
      if (statusOf(error) === 400) return []
      throw error
    }
  }
  const { title } = record
  const query = text.trim()
  if (query === '') return (await find({})).map((row) => cacheTitle(record, row))
  if (fieldOf(record, title)?.kind.isFreeText === false)
    return (await find({ [title]: query })).map((row) => cacheTitle(record, row))
  const capital = query.charAt(0).toUpperCase() + query.slice(1)
  const prefixes = [...new Set([query, capital])].map((prefix) => ({
    [`${title}.startsWith`]: prefix,
  }))
  const found = await Promise.all(
    [...prefixes, ...(record.search ? [{ search: query }] : [])].map((params) => find(params)),
  )
  let rows = found.flat()
  if (rows.length === 0) rows = await find({ [`${title}.ilike`]: `%${escapeLike(query)}%` })
  const unique = new Map(rows.map((row) => [keyOf(record, row), row]))
  return [...unique.values()].slice(0, maxChoices).map((row) => cacheTitle(record, row))
}

export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
