/** Reads, writes and deletes a row. Writes and deletions fail if another user has changed the row. */
import { api, request, rowsOf, statusOf } from './requests.js'
import { byText } from './compare-values.js'
import { fieldOf, recordNamed, type RecordInfo, type PageRow } from './schema.js'
import { choiceOf } from './titles.js'

export interface StoredRow {
  row: PageRow
  /** The version, if the record has versions. */
  version: number | undefined
}

/** Reads a row for its form, with the keys of linked rows and a list of nested rows. */
export async function readStored(record: RecordInfo, key: string): Promise<StoredRow> {
  const relations = record.relations ?? []
  const linkRelations = relations.filter(({ kind, ids }) => kind === 'ties' && ids !== undefined)
  const nested = relations.filter(({ kind, nested }) => kind === 'many' && nested === true)
  // Request only the key and the title of linked rows.
  const linkFields = linkRelations.flatMap(({ name, to }) => {
    const target = recordNamed(to)
    return target === undefined ? [] : [`${name}.${target.key}`, `${name}.${target.title}`]
  })
  const fieldNames = record.fields.map(({ name }) => name)
  const params: Record<string, string> =
    linkRelations.length === 0
      ? {}
      : {
          with: linkRelations.map(({ name }) => name).join(','),
          fields: [...new Set([...fieldNames, ...linkFields])].join(','),
        }
  const [{ data: row }, ...parts] = await Promise.all([
    request<PageRow>('GET', rowsOf(record, key), { params }),
    ...nested.map((relation) => {
      const target = recordNamed(relation.to)
      if (target === undefined || relation.by === undefined) return { data: [] as PageRow[] }
      const params = { [relation.by]: key, limit: 200, count: 'none', orderBy: target.key }
      return request<PageRow[]>('GET', rowsOf(target), { params: params })
    }),
  ])
  for (const relation of linkRelations) {
    const target = recordNamed(relation.to)
    const linkedRows = (row[relation.name] ?? []) as PageRow[]
    Reflect.deleteProperty(row, relation.name)
    if (target !== undefined && relation.ids !== undefined)
      row[relation.ids] = linkedRows
        .map((linkedRow) => choiceOf(target, linkedRow).key)
        .sort(byText)
  }
  for (const [index, relation] of nested.entries()) row[relation.name] = parts[index]?.data
  return { row, version: record.version === undefined ? undefined : Number(row[record.version]) }
}

/** @throws an error for which `isStale` is true if a written field has changed */
export async function writeStored(
  record: RecordInfo,
  key: string,
  { row, version }: StoredRow,
  values: PageRow,
): Promise<void> {
  if (version !== undefined) {
    const headers = { 'If-Match': `"${version}"` }
    await request('PATCH', rowsOf(record, key), { body: values, headers })
    return
  }
  const names = Object.keys(values).filter(
    (name) =>
      fieldOf(record, name) !== undefined || record.relations?.some(({ ids }) => ids === name),
  )
  await request('POST', api(`save/${record.path}/${encodeURIComponent(key)}`), {
    body: { was: pick(row, names), values },
  })
}

/** @throws an error for which `isStale` is true if the row has changed */
export async function deleteStored(
  record: RecordInfo,
  key: string,
  { row, version }: StoredRow,
): Promise<void> {
  if (version !== undefined) {
    await request('DELETE', rowsOf(record, key), { headers: { 'If-Match': `"${version}"` } })
    return
  }
  const names = record.fields.map(({ name }) => name)
  await request('POST', api(`remove/${record.path}/${encodeURIComponent(key)}`), {
    body: { was: pick(row, names) },
  })
}

const pick = (row: PageRow, names: readonly string[]): PageRow =>
  Object.fromEntries(names.map((name) => [name, row[name] ?? null]))

/** Whether the error says that the row has changed: 412, or 409 `CHANGED`. */
export const isStale = (error: unknown): boolean =>
  statusOf(error) === 412 ||
  (statusOf(error) === 409 && (error as { data?: { code?: unknown } }).data?.code === 'CHANGED')
