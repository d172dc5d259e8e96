/** Requests the rows of a list, their number and their keys. */
import type { ListLocation, RowTotal, SearchMode } from './list-location.js'
import { pageSize } from './pager.js'
import { request, rowsOf, statusOf } from './requests.js'
import { keyOf, type PageRow } from './schema.js'

export interface ListPage {
  /** The path of the request. */
  readonly path: string
  readonly rows: readonly PageRow[]
  /** The cursor of the next page. */
  readonly after: string | undefined
  /** Undefined if the number of rows is not known. */
  readonly total: RowTotal | undefined
}

/** Requests a page. Searches for complete words first, then for the text anywhere. Large tables allow prefixes only. */
export async function requestPage(
  query: ListLocation,
  fields: string,
  signal: AbortSignal,
): Promise<ListPage> {
  const requestIn = (mode: SearchMode): Promise<ListPage> => {
    query.searchMode = mode
    return requestPageOnce(query, fields, signal)
  }
  const isSearch = query.search !== '' && query.isFirstPage
  const orPrefixes = (error: unknown): Promise<ListPage> => {
    if (!isSearch || statusOf(error) !== 400) throw error
    return requestIn('beginnings')
  }
  const first = query.isFirstPage ? query.firstSearchMode : query.searchMode
  const page = await requestIn(first).catch(orPrefixes)
  if (page.rows.length > 0 || !isSearch || query.firstSearchMode !== 'words') return page
  return requestIn('anywhere').catch(orPrefixes)
}

async function requestPageOnce(
  query: ListLocation,
  fields: string,
  signal: AbortSignal,
): Promise<ListPage> {
  const params = query.ordered()
  params.set('fields', fields)
  params.set('limit', String(pageSize()))
  for (const [name, value] of new URLSearchParams(query.pageQuery)) params.set(name, value)
  if (!query.isFirstPage) params.set('count', 'none')
  const path = `${rowsOf(query.record)}?${String(params)}`
  const { data, headers } = await request<PageRow[]>('GET', path, { signal })
  const after = cursorIn(headers)
  const isComplete = after === undefined
  return { path, rows: data, after, total: totalIn(headers, isComplete ? data.length : undefined) }
}

/** @param rowCount the number of rows if the page has all of them */
function totalIn(headers: Headers, rowCount: number | undefined): RowTotal | undefined {
  const exact = headers.get('X-Total-Count')
  const about = headers.get('X-Total-Count-Estimate')
  if (exact !== null) return { count: Number(exact), isAbout: false }
  if (about !== null) return { count: Number(about), isAbout: true }
  return rowCount === undefined ? undefined : { count: rowCount, isAbout: false }
}

/** The cursor of the next page. */
function cursorIn(headers: Headers): string | undefined {
  const address = /<([^>]*)>;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1]
  if (address === undefined) return undefined
  return new URL(address, location.origin).searchParams.get('after') ?? undefined
}

/** Counts the rows that match exactly. */
export async function countRows(query: ListLocation, signal: AbortSignal): Promise<RowTotal> {
  const params = query.matching({ limit: '0', count: 'exact' })
  const path = `${rowsOf(query.record)}?${String(params)}`
  const { headers } = await request('GET', path, { signal })
  return { count: Number(headers.get('X-Total-Count')), isAbout: false }
}

/** Reads the keys of all rows that match, 1,000 per request. @param report receives the number of keys so far */
export async function readKeys(
  query: ListLocation,
  signal: AbortSignal,
  report: (count: number) => void,
): Promise<string[]> {
  const { record } = query
  const { key } = record
  const params = query.matching({ orderBy: key, fields: key, limit: '1000', count: 'none' })
  const keys: string[] = []
  for (;;) {
    const path = `${rowsOf(record)}?${String(params)}`
    const { data, headers } = await request<PageRow[]>('GET', path, { signal })
    for (const row of data) keys.push(keyOf(record, row))
    report(keys.length)
    const after = cursorIn(headers)
    if (after === undefined) return keys
    params.set('after', after)
  }
}
