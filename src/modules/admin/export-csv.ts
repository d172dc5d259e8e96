/** Exports the rows of a list as CSV, with the caller's rights. */

import {
  describeRecord,
  type FieldDescription,
  type HttpRequest,
  type RecordRights,
} from '../../index.js'
import { readCell, type Cell, writeLine } from './csv-format.js'
import { type JsonRow, toJson, type PageRecord } from './page-records.js'

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
  const jsonNames = rights.fields.filter(isJson).map(({ name }) => name)
  const first = await pages.next()
  return (async function* () {
    yield writeLine(names)
    for (let page = first; page.done !== true; page = await pages.next())
      yield page.value
        .map((row) => {
          const cells = addLinkedKeys(toJson(row, rights), linkColumns)
          for (const name of jsonNames) cells[name] = toJsonText(cells[name])
          return writeLine(names.map((name) => cells[name]))
        })
        .join('')
  })()
}

function isJson({ presentation, list }: FieldDescription): boolean {
  return presentation.type === 'json' && !list
}

/** The text of a JSON value, with quotes around texts: the text "5" is another value than the number 5. */
function toJsonText(value: unknown): unknown {
  return value === null || value === undefined ? value : JSON.stringify(value)
}

/** The value that a cell of the field holds. */
export function toCellValue(field: FieldDescription, value: unknown): unknown {
  return isJson(field) ? toJsonText(value) : value
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
  /** False if the caller may not change the links. */
  readonly linkable: boolean
}

/** The columns for the relations whose keys the caller may read. */
export function linkColumnsOf({ relations }: RecordRights): LinkColumn[] {
  return relations.flatMap(({ name: relation, ids: name, target, linkable }) => {
    const key = describeRecord(target)?.key
    if (name === undefined || key === undefined) return []
    const isUuid = key.kind === 'uuid'
    return [{ use: 'links', name, relation, key: key.name, isUuid, linkable }]
  })
}

/** Adds the cells of the link columns to the row. Changes the row. */
function addLinkedKeys(row: JsonRow, linkColumns: readonly LinkColumn[]): JsonRow {
  for (const column of linkColumns) row[column.name] = linkedKeys(row, column).join(';') || null
  return row
}

/** The keys of the rows that are linked to a row. */
export function linkedKeys(row: JsonRow, { relation, key }: LinkColumn): unknown[] {
  return (row[relation] as JsonRow[]).map((linkedRow) => linkedRow[key])
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
