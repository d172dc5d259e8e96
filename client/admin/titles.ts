/** Rows of other records by their titles: looked up by key, and found by what is typed. */
import { ask, rowsOf, statusOf } from './requests.js'
import { fieldOf, keyOf, texts, titleOf, type RecordInfo, type Row } from './schema.js'

export interface Choice {
  readonly key: string | number
  readonly title: string
}

/** What was looked up in this view. */
const known = new Map<string, string>()

export const forgetTitles = (): void => {
  known.clear()
}

const placeOf = (record: RecordInfo, key: unknown): string => `${record.name} ${String(key)}`

export const knownTitle = (record: RecordInfo, key: unknown): string =>
  known.get(placeOf(record, key)) ?? `${record.one} ${String(key)}`

export const isKnown = (record: RecordInfo, key: unknown): boolean =>
  known.has(placeOf(record, key))

/** Only what names a row: nothing is asked that is not shown. */
const fields = (record: RecordInfo): string => [...new Set([record.key, record.title])].join(',')

/** Looks up the titles that are not known yet, in one request. */
export async function lookUp(record: RecordInfo, keys: Iterable<unknown>): Promise<void> {
  const missing = [...new Set(keys)].filter(
    (key) => key !== null && key !== undefined && !known.has(placeOf(record, key)),
  )
  for (let from = 0; from < missing.length; from += 100) {
    const some = missing.slice(from, from + 100).map(String)
    const params = {
      [`${record.key}.in`]: some.join(','),
      ...{ fields: fields(record), limit: some.length, count: 'none' },
    }
    const { data } = await ask<Row[]>('GET', rowsOf(record), { params })
    for (const row of data) keep(record, row)
  }
}

export function keep(record: RecordInfo, row: Row): Choice {
  const title = titleOf(record, row)
  known.set(placeOf(record, row[record.key]), title)
  return { key: row[record.key] as string | number, title }
}

const most = 12

/** Rows whose title begins with the text, or that hold its words; where there is none, those that have it anywhere. */
export async function findRows(
  record: RecordInfo,
  text: string,
  signal: AbortSignal,
): Promise<Choice[]> {
  const shared = { fields: fields(record), limit: most, count: 'none' }
  const look = async (params: Record<string, string>): Promise<Row[]> => {
    try {
      return (await ask<Row[]>('GET', rowsOf(record), { params: { ...shared, ...params }, signal }))
        .data
    } catch (error) {
      // What is no text for this comparison finds nothing.
      if (statusOf(error) === 400) return []
      throw error
    }
  }
  const { title } = record
  const asked = text.trim()
  if (asked === '') return (await look({})).map((row) => keep(record, row))
  if (!texts.has(fieldOf(record, title)?.kind ?? 'string'))
    return (await look({ [title]: asked })).map((row) => keep(record, row))
  const capital = asked.charAt(0).toUpperCase() + asked.slice(1)
  const beginnings = [...new Set([asked, capital])].map((one) => ({ [`${title}.startsWith`]: one }))
  const found = await Promise.all(
    [...beginnings, ...(record.search ? [{ search: asked }] : [])].map((params) => look(params)),
  )
  let rows = found.flat()
  if (rows.length === 0) rows = await look({ [`${title}.ilike`]: `%${escapeLike(asked)}%` })
  const unique = new Map(rows.map((row) => [keyOf(record, row), row]))
  return [...unique.values()].slice(0, most).map((row) => keep(record, row))
}

export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
