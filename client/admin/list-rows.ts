/** Requests the rows of a list, their number and their keys. */
import type { ListLocation, SearchMode } from './list-location.js'
import { pageSize } from './pager.js'
import { request, rowsOf, statusOf } from './requests.js'
import { readTotal, type RowTotal } from './row-total.js'
import { keyFieldsOf, keyOf, type PageRow } from './schema.js'

export interface ListPage {
  /** The path of the request. */
  readonly path: string
  readonly rows: readonly PageRow[]
  /** Undefined for the last page. */
  readonly nextCursor: string | undefined
  /** Undefined if the number of rows is not known. */
  readonly total: RowTotal | undefined
}

/**
 * Requests a page. The first page of a search determines the search mode of `list`: complete words if they are found, or else
 * the text anywhere. Large tables reject such searches with 400, and allow prefixes only.
 */
export async function requestPage(
  list: ListLocation,
  fields: string,
  signal: AbortSignal,
): Promise<ListPage> {
  if (list.search === '' || !list.isFirstPage) return requestPageOnce(list, fields, signal)
  const searchIn = (mode: SearchMode): Promise<ListPage> => {
    list.searchMode = mode
    return requestPageOnce(list, fields, signal)
  }
  const searchOrUsePrefix = (mode: SearchMode): Promise<ListPage> =>
    searchIn(mode).catch((error: unknown) => {
      if (statusOf(error) !== 400) throw error
      return searchIn('prefix')
    })
  const page = await searchOrUsePrefix(list.firstSearchMode)
  if (page.rows.length > 0 || list.firstSearchMode !== 'words') return page
  return searchOrUsePrefix('anywhere')
}

async function requestPageOnce(
  list: ListLocation,
  fields: string,
  signal: AbortSignal,
): Promise<ListPage> {
  const params = list.toParams()
  params.set('fields', fields)
  params.set('limit', String(pageSize()))
  for (const [name, value] of new URLSearchParams(list.pageQuery)) params.set(name, value)
  if (!list.isFirstPage) params.set('count', 'none')
  const path = `${rowsOf(list.record)}?${String(params)}`
  const { data: rows, headers } = await request<PageRow[]>('GET', path, { signal })
  const nextCursor = readNextCursor(headers)
  const isComplete = nextCursor === undefined
  const countedRows = isComplete ? { count: rows.length, isEstimate: false } : undefined
  return { path, rows, nextCursor, total: readTotal(headers) ?? countedRows }
}

/** @returns undefined on the last page */
function readNextCursor(headers: Headers): string | undefined {
  const address = /<([^>]*)>;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1]
  if (address === undefined) return undefined
  return new URL(address, location.origin).searchParams.get('after') ?? undefined
}

/** Reads the keys of all rows that match, 1,000 per request. @param report receives the number of keys so far */
export async function readKeys(
  list: ListLocation,
  signal: AbortSignal,
  report: (count: number) => void,
): Promise<string[]> {
  const { record } = list
  const key = keyFieldsOf(record).join(',')
  const params = list.toFilterParams({ orderBy: key, fields: key, limit: '1000', count: 'none' })
  const keys: string[] = []
  for (;;) {
    const path = `${rowsOf(record)}?${String(params)}`
    const { data: rows, headers } = await request<PageRow[]>('GET', path, { signal })
    for (const row of rows) keys.push(keyOf(record, row))
    report(keys.length)
    const nextCursor = readNextCursor(headers)
    if (nextCursor === undefined) return keys
    params.set('after', nextCursor)
  }
}
