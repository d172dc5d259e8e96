/** What was changed in a row, for whoever may read the row. Source: specification, Admin page 7. */
import type { Database } from '../../index.js'
import { AdminEntry } from './admin-entry.js'
import { notFound, type ShownRecord } from './shown-records.js'

const pageSize = 50

/** @param after the `next` of the page before */
export async function listHistory(
  database: Database,
  { records, type }: ShownRecord,
  id: string,
  after: number | undefined,
): Promise<object> {
  const { fields, key } = await records.rights()
  const row = await records.find(id)
  if (row === null) throw notFound()
  const readable = new Set(fields.map(({ name }) => name))
  const where = { record: type.name, row: String(row[key.name]) }
  const found = await database.records(AdminEntry).list({
    where: after === undefined ? where : { ...where, id: { lt: after } },
    orderBy: { id: 'desc' },
    limit: pageSize + 1,
  })
  const rows = found.slice(0, pageSize).flatMap(({ id: entry, at, by, kind, action, changes }) => {
    const shown = changes.filter(({ field }) => readable.has(field))
    // That something was changed which the reader may not see is nobody's business.
    if (shown.length === 0 && kind === 'update') return []
    return [{ id: entry, at, by, kind, ...(action === null ? {} : { action }), changes: shown }]
  })
  const last = found[pageSize - 1]
  return found.length > pageSize && last !== undefined ? { rows, next: last.id } : { rows }
}
