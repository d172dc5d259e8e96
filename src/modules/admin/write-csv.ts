/** Writes the rows of a list as CSV, with the caller's rights. Source: specification, Admin page 9. */
import type { HttpRequest, RecordRights } from '../../index.js'
import { writeLine } from './csv-text.js'
import { tiesOf, withKeys } from './csv-ties.js'
import { asJson, type Row, type ShownRecord } from './shown-records.js'

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
