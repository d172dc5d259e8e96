/** The columns of a list that the page exports as CSV. */
import { exportRows, type HttpRequest, type RecordRights } from '../../index.js'
import type { PageRecord } from './page-records.js'

/** Streams all rows that match the filter of a list, with the columns of `fields=`. */
export async function exportCsv(
  { records }: PageRecord,
  { query }: HttpRequest,
): Promise<AsyncIterable<string>> {
  const rights = await records.rights()
  const { fields: requested } = query
  if (requested === undefined || rights.fields.some(({ name }) => name === 'fields'))
    return exportRows(records, { query })
  const columns = [requested].flat().flatMap((text) => text.split(','))
  return exportRows(records, { query: withoutLinkColumns(query, columns, rights), columns })
}

/** Removes the keys of linked rows from `fields=`, because list queries do not support them. */
function withoutLinkColumns(
  query: HttpRequest['query'],
  columns: readonly string[],
  { relations }: RecordRights,
): HttpRequest['query'] {
  const others = Object.entries(query).filter(([name]) => name !== 'fields')
  const isOf = (name: string, ids: string): boolean => name === ids || name.startsWith(`${ids}.`)
  const fieldNames = columns.filter((name) =>
    relations.every(({ ids }) => ids === undefined || !isOf(name, ids)),
  )
  if (fieldNames.length > 0) others.push(['fields', fieldNames.join(',')])
  return Object.fromEntries(others)
}
