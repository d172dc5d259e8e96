/**
 * Responds with a page of a record's rows, its total, and the link to the next page. Source: decisions, Records:
 * REST; RFC 8288.
 */
import type { HttpRequest } from '../../http/request.js'
import { ServerRequest } from '../../http/server-request.js'
import { reply, type Reply } from '../../http/reply.js'
import { hasSearch, readOffsetCursor, writeOffsetCursor } from '../filters/search.js'
import type { RelationCount } from '../filters/relation-counts.js'
import type { ClientRecords } from '../clients/client-records.js'
import type { CrudQuery } from './crud-query.js'
import type { SelectedFields } from './crud-shape.js'

/** Up to this many rows the total is exact by default. Above, it is an estimate. */
const countedRows = 10_000

/** @param cost the maximum number of related rows */
export async function listRows(
  records: ClientRecords<object>,
  query: CrudQuery,
  request: HttpRequest,
  cost: number,
): Promise<Reply> {
  const { where, limit, offset, after } = query
  const isLive = request instanceof ServerRequest && request.isLive
  const distinct = query.distinct as readonly never[] | undefined
  const orderBy = query.orderBy.length === 0 ? undefined : query.orderBy
  // One extra row shows whether there is a next page.
  const maxRows = limit === 0 ? 0 : limit + 1
  const order = orderBy === undefined ? {} : { orderBy }
  const passed = offset === 0 ? {} : { offset }
  const cursorOption = after === undefined ? {} : { after }
  const distinctOption = distinct === undefined ? {} : { distinct }
  const counts = countsOption(query.counts)
  const listing = records.list(
    { where, ...order, limit: maxRows, ...passed, ...cursorOption, ...distinctOption, ...counts },
    query.shape?.relations,
    cost,
  )
  // The list and the total are queried in parallel, which saves a round trip over a network.
  // A live query has no headers for a total.
  const counting = isLive ? undefined : totalOf(records, query)
  const [found, total] = await Promise.all([listing, counting])
  const hasNext = found.length > limit
  const rows = hasNext ? found.slice(0, limit) : found
  const last = rows.at(-1)
  const isOffset =
    distinct !== undefined || (orderBy === undefined && hasSearch(records.table, where))
  const cursor =
    hasNext && last !== undefined
      ? isOffset
        ? writeOffsetCursor(
            offset + rows.length + (after === undefined ? 0 : readOffsetCursor(after)),
          )
        : records.cursorOf(last, orderBy)
      : undefined
  showRows(rows, query.shape)
  const response = reply(rows)
  if (total !== undefined) response.header(...total)
  if (cursor !== undefined) {
    const next = nextPage(request, cursor)
    response.header('Link', `<${next}>; rel="next"`)
  }
  return response
}

/** The option that counts these relations for each row of a list. */
export function countsOption(counts: readonly RelationCount[]): { counts?: readonly never[] } {
  return counts.length === 0 ? {} : { counts: counts.map(({ relation }) => relation.name as never) }
}

/** Removes fields that the client did not select, from the rows and their related rows. */
export function showRows(rows: readonly object[], shape: SelectedFields | undefined): void {
  if (shape === undefined) return
  const { omitted: without, related: relatedFields } = shape
  for (const row of rows as Record<string, unknown>[]) {
    // JSON leaves undefined values out.
    for (const name of without) row[name] = undefined
    for (const [name, nested] of relatedFields) {
      const related = row[name] as object | readonly object[] | null | undefined
      if (related !== undefined && related !== null) showRows([related].flat(), nested)
    }
  }
}

async function totalOf(
  records: ClientRecords<object>,
  { where, count, distinct }: CrudQuery,
): Promise<[name: string, value: number] | undefined> {
  if (count === 'none') return undefined
  // The database reads every row for `distinct` anyway.
  if (distinct !== undefined)
    return ['X-Total-Count', await records.count(where, distinct as readonly never[])]
  if (count === 'exact') return ['X-Total-Count', await records.count(where)]
  if (count === 'estimate') return ['X-Total-Count-Estimate', await records.estimate(where)]
  const total = await records.countUpTo(countedRows, where)
  if (total !== undefined) return ['X-Total-Count', total]
  const estimate = await records.estimate(where)
  return ['X-Total-Count-Estimate', Math.max(estimate, countedRows + 1)]
}

/** The URL of the same query for the page after this one. */
function nextPage({ url }: HttpRequest, cursor: string): string {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  parameters.delete('offset')
  parameters.set('after', cursor)
  return `${path}?${parameters.toString()}`
}
