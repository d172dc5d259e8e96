/** Reads all rows of a list of the program in pages. */
import type { TextValues } from '../http/query-string.js'
import { hasKey } from '../engines/contract/table.js'
import { pageOrder } from '../records/filters/order.js'
import { writeOffsetCursor } from '../records/filters/search.js'
import type { Repository } from '../records/repository.js'
import { readCrudQuery } from '../records/rest/crud-query.js'

const pageSize = 500

/** @param query as of `crud`; its `limit`, `offset` and `after` are ignored */
export async function* pagesOf(
  records: Repository,
  query: TextValues,
  relations: readonly string[],
): AsyncGenerator<readonly object[], void> {
  const { table } = records
  const { where, orderBy } = readCrudQuery(table, query).options
  const order = pageOrder(table, orderBy) as never
  const options = { where, orderBy: order, with: relations, limit: pageSize }
  let cursor: { after?: string } = {}
  let count = 0
  for (;;) {
    const rows: readonly object[] = await records.list({ ...options, ...cursor } as never)
    // The cursor is created from the stored row, before the consumer can change it.
    const last = rows.at(-1)
    count += rows.length
    if (last !== undefined)
      cursor = { after: hasKey(table) ? records.cursorOf(last, order) : writeOffsetCursor(count) }
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
  }
}
