/** What was changed in the rows of a record, for whoever may read them. Source: specification, Admin page 7. */
import { HttpError, type Database } from '../../index.js'
import { AdminEntry } from './change-history.js'
import { titleOf } from './schema.js'
import { notFound, type Row, type ShownRecord } from './page-records.js'

const pageSize = 50

export interface AskedHistory {
  /** The key of one row; else the changes of all rows. */
  readonly id?: string | undefined
  readonly kind?: AdminEntry['kind'] | undefined
  /** The `next` of the page before. */
  readonly after?: number | undefined
}

/** The rows of people, as the caller may read them. */
export interface ShownPeople {
  readonly shown: ShownRecord
  /** The field that holds the claim `sub`; undefined for the key. */
  readonly field: string | undefined
}

/**
 * The changes of one row or of all, the latest first. Of a row that is there, whoever sees it reads them; of one that is gone,
 * who sees every row of the record: what `rows` would have said of it cannot be asked any more.
 *
 * @throws {HttpError} 404 for a row that is not there for the caller, and never was; 401 or 403 for such a record
 */
export async function listHistory(
  database: Database,
  shown: ShownRecord,
  { id, kind, after }: AskedHistory,
  people?: ShownPeople,
): Promise<object> {
  const { records, type } = shown
  const { fields } = await records.rights()
  const seesAll = await records.seesAll()
  if (!seesAll && id !== undefined && (await records.find(id)) === null) throw notFound()
  const found = await database.records(AdminEntry).list({
    where: {
      record: type.name,
      ...(id === undefined ? {} : { row: id }),
      ...(kind === undefined ? {} : { kind }),
      ...(after === undefined ? {} : { id: { lt: after } }),
    },
    orderBy: { id: 'desc' },
    limit: pageSize + 1,
  })
  const page = found.slice(0, pageSize)
  if (id !== undefined && page.length === 0 && seesAll && (await records.find(id)) === null)
    throw notFound()
  const seen = seesAll || id !== undefined ? undefined : await findSeen(shown, page)
  const titles = people && (await findTitles(people, page))
  const readable = new Set(fields.map(({ name }) => name))
  const rows = page
    .filter(({ row }) => seen?.has(row) !== false)
    .flatMap(({ id: entry, row, at, by, kind: done, action, changes }) => {
      const visible = changes.filter(({ field }) => readable.has(field))
      // That something was changed which the reader may not see is nobody's business.
      if (visible.length === 0 && done === 'update') return []
      const named = action === null ? {} : { action }
      const title = titles?.get(by)
      const person = title === undefined ? {} : { person: title }
      return [{ id: entry, row, at, by, ...person, kind: done, ...named, changes: visible }]
    })
  const last = found[pageSize - 1]
  return found.length > pageSize && last !== undefined ? { rows, next: last.id } : { rows }
}

/** The keys of those rows that the caller sees. @throws {HttpError} 401 or 403 */
async function findSeen(
  { records, described: { key } }: ShownRecord,
  entries: readonly AdminEntry[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(entries.map(({ row }) => row))]
  const keys = key.kind === 'uuid' ? ids : ids.map(Number)
  const rows = await records.list({ where: { [key.name]: { in: keys } }, limit: pageSize })
  return new Set(rows.map((row) => String(row[key.name])))
}

/** What `by` holds where nobody has signed in. */
const nobody: ReadonlySet<string> = new Set(['key', 'program', 'anonymous'])

/** The titles of the people who made the changes, by their `sub`. None of those that the caller may not read. */
async function findTitles(
  { shown: { records, described }, field }: ShownPeople,
  entries: readonly AdminEntry[],
): Promise<ReadonlyMap<string, string>> {
  const { key } = described
  const subs = [...new Set(entries.map(({ by }) => by))].filter(
    (sub) => !nobody.has(sub) && (field !== undefined || isKey(sub, key.kind)),
  )
  const name = field ?? key.name
  const isNumber = field === undefined && key.kind !== 'uuid'
  try {
    const title = titleOf(await records.rights())
    if (subs.length === 0 || title === key.name) return new Map()
    const values = isNumber ? subs.map(Number) : subs
    const rows = await records.list({ where: { [name]: { in: values } }, limit: pageSize })
    return new Map(
      rows.flatMap((row: Row) => {
        const text = row[title]
        return typeof text === 'string' && text !== '' ? [[String(row[name]), text]] : []
      }),
    )
  } catch (error) {
    if (error instanceof HttpError && (error.status === 401 || error.status === 403))
      return new Map()
    throw error
  }
}

function isKey(sub: string, kind: string): boolean {
  return (kind === 'uuid' ? /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/ : /^[1-9]\d{0,14}$/).test(
    sub,
  )
}
