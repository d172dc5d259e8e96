/** Exports the rows of a list as CSV, with the caller's rights. */

import { describeRecord, type RecordRights, type HttpRequest } from '../../index.js'
import { readCell, type Cell, writeLine } from './csv-format.js'
import { type Row, toJson, type PageRecord } from './page-records.js'

/** Streams all rows that match the filter of a list. Reads the first page before it returns, so that errors get a status. */
export async function exportCsv(
  { records }: PageRecord,
  { query }: HttpRequest,
): Promise<AsyncIterable<string>> {
  const rights = await records.rights()
  const names = columnsOf(rights, query.fields)
  const linkColumns = linkColumnsOf(rights).filter(({ name }) => names.includes(name))
  const pages = records.all(withoutLinkColumns(query, rights), {
    with: linkColumns.map(({ relation }) => relation),
  })
  const first = await pages.next()
  return (async function* () {
    yield writeLine(names)
    for (let page = first; page.done !== true; page = await pages.next())
      yield page.value
        .map((row) => writeLine(readNames(addLinkedKeys(toJson(row), linkColumns), names)))
        .join('')
  })()
}

function readNames(row: Row, names: readonly string[]): unknown[] {
  return names.map((name) => row[name])
}

/** The columns that `fields=` selects, or all columns. A relation is represented by its keys. */
function columnsOf(rights: RecordRights, requestedFields: string | string[] | undefined): string[] {
  const names = [...rights.fields, ...linkColumnsOf(rights)].map(({ name }) => name)
  if (requestedFields === undefined || names.includes('fields')) return names
  const requestedNames = new Set([requestedFields].flat().flatMap((text) => text.split(',')))
  return names.filter((name) => requestedNames.has(name))
}

/** Removes link columns from `fields=`, because list queries do not support them. */
function withoutLinkColumns(
  query: HttpRequest['query'],
  rights: RecordRights,
): HttpRequest['query'] {
  const { fields: requestedFields, ...rest } = query
  if (requestedFields === undefined || rights.fields.some(({ name }) => name === 'fields'))
    return query
  const linkNames = new Set(linkColumnsOf(rights).map(({ name }) => name))
  const requestedNames = [requestedFields].flat().flatMap((text) => text.split(','))
  const fieldNames = requestedNames.filter((name) => !linkNames.has(name))
  return fieldNames.length === requestedNames.length
    ? query
    : { ...rest, ...(fieldNames.length === 0 ? {} : { fields: fieldNames.join(',') }) }
}

/** A CSV column for a many-to-many relation. A cell holds the keys of the linked rows: `3;17`. */
export interface LinkColumn {
  readonly use: 'links'
  /** The name in the body of a write: `tagIds`. */
  readonly name: string
  readonly relation: string
  readonly key: string
  readonly isUuid: boolean
}

/** The columns for the relations whose keys the caller may read. */
export function linkColumnsOf({ relations }: RecordRights): LinkColumn[] {
  return relations.flatMap(({ name: relation, ids: name, target }) => {
    const key = describeRecord(target)?.key
    if (name === undefined || key === undefined) return []
    return [{ use: 'links', name, relation, key: key.name, isUuid: key.kind === 'uuid' }]
  })
}

/** Adds the cells of the link columns to the row. Changes the row. */
function addLinkedKeys(row: Row, linkColumns: readonly LinkColumn[]): Row {
  for (const column of linkColumns) row[column.name] = linkedKeys(row, column).join(';') || null
  return row
}

/** The keys of the rows that are linked to a row. */
export function linkedKeys(row: Row, { relation, key }: LinkColumn): unknown[] {
  return (row[relation] as Row[]).map((linkedRow) => linkedRow[key])
}

/** @returns undefined if the cell is not a list of keys */
export function readKeys({ isUuid }: LinkColumn, { text }: Cell): (string | number)[] | undefined {
  const keys = new Set<string | number>()
  for (const [part] of readCell(text).matchAll(/[^;,\s]+/g)) {
    if (!isUuid && !/^-?\d{1,15}$/.test(part)) return undefined
    keys.add(isUuid ? part.toLowerCase() : Number(part))
  }
  return [...keys]
}
