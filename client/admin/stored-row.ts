/**
 * Reads, writes and deletes a row. Writes and deletions fail if another user has changed the row: the server compares its
 * version, or the values that were read if the record has no versions.
 */
import { api, request, rowsOf, statusOf } from './requests.js'
import { byText } from './compare-values.js'
import {
  backConditions,
  fieldOf,
  keyFieldsOf,
  keyInput,
  recordNamed,
  type PageRow,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import type { Params } from '../options.js'
import { choiceOf } from './titles.js'

export interface StoredRow {
  row: PageRow
  /** The version, if the record has versions. */
  version: number | undefined
}

/** Reads a row for its form, with the keys of linked rows and a list of nested rows. */
export async function readStored(record: RecordInfo, key: string): Promise<StoredRow> {
  const nestedRelations = (record.relations ?? []).filter(
    ({ kind, nested }) => kind === 'many' && nested === true,
  )
  const [row, nestedLists] = await Promise.all([
    readWithLinks(record, key),
    Promise.all(nestedRelations.map((relation) => readNested(record, relation, key))),
  ])
  for (const [index, { name }] of nestedRelations.entries()) row[name] = nestedLists[index]
  return { row, version: record.version === undefined ? undefined : Number(row[record.version]) }
}

/** Reads a row with the keys of its linked rows. */
async function readWithLinks(record: RecordInfo, key: string): Promise<PageRow> {
  const relations = (record.relations ?? []).filter(
    ({ kind, ids }) => kind === 'links' && ids !== undefined,
  )
  const params = relations.length === 0 ? {} : linkParams(record, relations)
  const { data: row } = await request<PageRow>('GET', rowsOf(record, key), { params })
  for (const { name, to, ids } of relations) {
    const target = recordNamed(to)
    const linkedRows = (row[name] ?? []) as PageRow[]
    Reflect.deleteProperty(row, name)
    if (target !== undefined && ids !== undefined)
      row[ids] = linkedRows.map((linkedRow) => choiceOf(target, linkedRow).key).sort(byText)
  }
  return row
}

/** The parameters that request linked rows, with their keys and titles only. */
function linkParams(record: RecordInfo, relations: readonly RelationInfo[]): Params {
  const linkFields = relations.flatMap(({ name, to }) => {
    const target = recordNamed(to)
    if (target === undefined) return []
    return [...keyFieldsOf(target), target.title].map((field) => `${name}.${field}`)
  })
  const fieldNames = record.fields.map(({ name }) => name)
  return {
    with: relations.map(({ name }) => name).join(','),
    fields: [...new Set([...fieldNames, ...linkFields])].join(','),
  }
}

async function readNested(
  record: RecordInfo,
  relation: RelationInfo,
  key: string,
): Promise<PageRow[]> {
  const target = recordNamed(relation.to)
  if (target === undefined || relation.by === undefined) return []
  const conditions = backConditions(record, relation, key)
  const order = target.key === undefined ? {} : { orderBy: target.key }
  const params = { ...conditions, limit: 200, count: 'none', ...order }
  const { data } = await request<PageRow[]>('GET', rowsOf(target), { params })
  return data
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
    await request('PATCH', rowsOf(record, key), { body: toBody(record, values), headers })
    return
  }
  const names = Object.keys(values).filter(
    (name) =>
      fieldOf(record, name) !== undefined || record.relations?.some(({ ids }) => ids === name),
  )
  await request('POST', api(`save/${record.path}/${encodeURIComponent(key)}`), {
    body: { was: storedValues(row, names), values: toBody(record, values) },
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
    body: { was: storedValues(row, names) },
  })
}

/** The values of a form as a body, in which keys of several fields are objects. */
export function toBody(record: RecordInfo, values: PageRow): PageRow {
  const body = { ...values }
  for (const { ids, to } of record.relations ?? []) {
    const target = recordNamed(to)
    const keys = ids === undefined ? undefined : body[ids]
    if (ids !== undefined && target !== undefined && Array.isArray(keys))
      body[ids] = keys.map((key) => keyInput(target, key))
  }
  return body
}

/** The values for the comparison on the server, where a missing value is null. */
const storedValues = (row: PageRow, names: readonly string[]): PageRow =>
  Object.fromEntries(names.map((name) => [name, row[name] ?? null]))

/** Whether the error says that the row has changed: 412 for a record with versions, otherwise 409 `CHANGED`. */
export const isStale = (error: unknown): boolean =>
  statusOf(error) === 412 ||
  (statusOf(error) === 409 && (error as { data?: { code?: unknown } }).data?.code === 'CHANGED')
