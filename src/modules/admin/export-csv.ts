/** Writes the rows of a list as CSV, with the caller's rights. Source: specification, Admin page 9. */

import { describeRecord, type RecordRights, type HttpRequest } from '../../index.js'
import { readCell, type Cell, writeLine } from './csv-format.js'
import { type Row, asJson, type ShownRecord } from './page-records.js'

/** All rows of a list's filter, a piece for some hundred rows. The first piece is read before anything is sent. */
export async function writeCsv(
  { records }: ShownRecord,
  { query }: HttpRequest,
): Promise<AsyncIterable<string>> {
  const rights = await records.rights()
  const names = columnsOf(rights, query.fields)
  const ties = tiesOf(rights).filter(({ name }) => names.includes(name))
  const pages = records.all(withoutTies(query, rights), {
    with: ties.map(({ relation }) => relation),
  })
  const first = await pages.next()
  return (async function* () {
    yield writeLine(names)
    for (let page = first; page.done !== true; page = await pages.next())
      yield page.value
        .map((row) => writeLine(readNames(withKeys(asJson(row), ties), names)))
        .join('')
  })()
}

function readNames(row: Row, names: readonly string[]): unknown[] {
  return names.map((name) => row[name])
}

/** `fields=` chooses columns as for lists; relations are left out, their keys stand there. */
function columnsOf(rights: RecordRights, asked: string | string[] | undefined): string[] {
  const names = [...rights.fields, ...tiesOf(rights)].map(({ name }) => name)
  if (asked === undefined || names.includes('fields')) return names
  const wanted = new Set([asked].flat().flatMap((text) => text.split(',')))
  return names.filter((name) => wanted.has(name))
}

/** Lists know no `fields=labelIds`. */
function withoutTies(query: HttpRequest['query'], rights: RecordRights): HttpRequest['query'] {
  const { fields: asked, ...others } = query
  if (asked === undefined || rights.fields.some(({ name }) => name === 'fields')) return query
  const ties = new Set(tiesOf(rights).map(({ name }) => name))
  const wanted = [asked].flat().flatMap((text) => text.split(','))
  const left = wanted.filter((name) => !ties.has(name))
  return left.length === wanted.length
    ? query
    : { ...others, ...(left.length === 0 ? {} : { fields: left.join(',') }) }
}

/**
 * Columns of CSV for many-to-many relations: one cell has the keys of all tied rows, `3;17`. Source: specification, Admin page 9.
 */

/** The keys of a many-to-many relation, in one cell: `3;17`. */
export interface TieColumn {
  readonly use: 'ties'
  /** As in the body of a write: `tagIds`. */
  readonly name: string
  readonly relation: string
  readonly key: string
  readonly isUuid: boolean
}

/** The relations of a record whose keys the caller may see, as columns. */
export function tiesOf({ relations }: RecordRights): TieColumn[] {
  return relations.flatMap(({ name: relation, ids: name, target }) => {
    const key = describeRecord(target)?.key
    if (name === undefined || key === undefined) return []
    return [{ use: 'ties', name, relation, key: key.name, isUuid: key.kind === 'uuid' }]
  })
}

/** Puts the keys of the tied rows into their columns: `3;17`. Changes the row. */
function withKeys(row: Row, ties: readonly TieColumn[]): Row {
  for (const tie of ties) row[tie.name] = keysIn(row, tie).join(';') || null
  return row
}

/** The keys of the rows that are tied to a row. */
export function keysIn(row: Row, { relation, key }: TieColumn): unknown[] {
  return (row[relation] as Row[]).map((other) => other[key])
}

/** @returns undefined for what is no list of keys */
export function readKeys({ isUuid }: TieColumn, { text }: Cell): (string | number)[] | undefined {
  const keys = new Set<string | number>()
  for (const [part] of readCell(text).matchAll(/[^;,\s]+/g)) {
    if (!isUuid && !/^-?\d{1,15}$/.test(part)) return undefined
    keys.add(isUuid ? part.toLowerCase() : Number(part))
  }
  return [...keys]
}
