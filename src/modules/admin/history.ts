/** Lists the recorded changes of rows, as far as the caller may read them. */
import { HttpError, type Database, type RecordDescription } from '../../index.js'
import { AdminEntry } from './change-history.js'
import { titleOf } from './schema.js'
import { notFound, type JsonRow, type PageRecord } from './page-records.js'

const pageSize = 50

export interface HistoryQuery {
  /** The key of a row. Default: the changes of all rows. */
  readonly id?: string | undefined
  readonly kind?: AdminEntry['kind'] | undefined
  /** The `next` of the previous page. */
  readonly after?: number | undefined
}

/** The record of the people who sign in, with the caller's rights. */
export interface PeopleRecord {
  readonly record: PageRecord
  /** The field that holds the claim `sub`; undefined for the key. */
  readonly field: string | undefined
}

/**
 * The changes of one row or of all rows, the latest first. A caller may read the history of the rows that it may read. The
 * history of a deleted row requires the right to read all rows, because `rows` can no longer be evaluated for it.
 *
 * @throws {HttpError} 404 if the row does not exist for the caller, 401 or 403 if the caller may not read the record
 */
export async function listHistory(
  database: Database,
  pageRecord: PageRecord,
  { id, kind, after }: HistoryQuery,
  people?: PeopleRecord,
): Promise<object> {
  const { records, type } = pageRecord
  const { fields } = await records.rights()
  const canReadAll = await records.seesAll()
  if (!canReadAll && id !== undefined && (await records.find(id)) === null) throw notFound()
  const entries = await database.records(AdminEntry).list({
    where: {
      record: type.name,
      ...(id === undefined ? {} : { row: id }),
      ...(kind === undefined ? {} : { kind }),
      ...(after === undefined ? {} : { id: { lt: after } }),
    },
    orderBy: { id: 'desc' },
    limit: pageSize + 1,
  })
  const page = entries.slice(0, pageSize)
  if (id !== undefined && page.length === 0 && canReadAll && (await records.find(id)) === null)
    throw notFound()
  const visibleKeys =
    canReadAll || id !== undefined ? undefined : await findVisibleKeys(pageRecord, page)
  const titles =
    people &&
    (await findTitles(
      people,
      page.map((entry) => entry.by),
    ))
  const readable = new Set(fields.map(({ name }) => name))
  const rows = page
    .filter(({ row }) => visibleKeys?.has(row) !== false)
    .flatMap(({ id: entry, row, at, by, kind: entryKind, action, changes }) => {
      const visible = changes.filter(({ field }) => readable.has(field))
      // Do not reveal that a hidden field was changed.
      if (visible.length === 0 && entryKind === 'update') return []
      const actionName = action === null ? {} : { action }
      const title = titles?.get(by)
      const person = title === undefined ? {} : { person: title }
      return [
        { id: entry, row, at, by, ...person, kind: entryKind, ...actionName, changes: visible },
      ]
    })
  const last = entries[pageSize - 1]
  return entries.length > pageSize && last !== undefined ? { rows, next: last.id } : { rows }
}

/** The keys of the rows that the caller may read. @throws {HttpError} 401 or 403 */
async function findVisibleKeys(
  { records, described: { key } }: PageRecord,
  entries: readonly AdminEntry[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(entries.map(({ row }) => row))]
  const keys = key.kind === 'integer' ? ids.map(Number) : ids
  const rows = await records.list({ where: key.where(keys) as never, limit: pageSize })
  return new Set(rows.map((row) => String(key.of(row))))
}

/** Values of `by` for changes without a signed-in person. */
const notPeople: ReadonlySet<string> = new Set(['key', 'program', 'anonymous'])

/** The titles of people by their claim `sub`, as far as the caller may read them. */
export async function findTitles(
  { record: { records, described }, field }: PeopleRecord,
  claims: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { key } = described
  const subs = [...new Set(claims)].filter(
    (sub) => !notPeople.has(sub) && (field !== undefined || isKey(sub, key)),
  )
  const name = field ?? key.name
  const isNumber = field === undefined && key.kind === 'integer'
  try {
    const title = titleOf(await records.rights())
    if (subs.length === 0 || title === key.name) return new Map()
    const values = isNumber ? subs.map(Number) : subs
    const rows = await records.list({ where: { [name]: { in: values } }, limit: pageSize })
    return new Map(
      rows.flatMap((row: JsonRow) => {
        const text = row[title]
        const sub = field === undefined ? key.of(row) : row[name]
        return typeof text === 'string' && text !== '' ? [[String(sub), text]] : []
      }),
    )
  } catch (error) {
    if (error instanceof HttpError && (error.status === 401 || error.status === 403))
      return new Map()
    throw error
  }
}

function isKey(sub: string, { kind, read }: RecordDescription['key']): boolean {
  if (kind === 'text') return read(sub) !== undefined
  return (kind === 'uuid' ? /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/ : /^[1-9]\d{0,14}$/).test(
    sub,
  )
}
