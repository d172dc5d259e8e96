/** Finds rows by their titles in all records of the page, for the jump dialog. */
import type { HttpRequest } from '../../index.js'
import {
  hasKey,
  maxSearchedRows,
  yieldToEventLoop,
  type PageRecord,
  type PageRecords,
} from './page-records.js'
import { titleOf } from './schema.js'

export interface JumpTarget {
  /** The plural of the record. */
  readonly record: string
  readonly key: unknown
  readonly title: string
}

/** The number of rows of one record, and of all records. */
const [maxRowsOfRecord, maxRowsFound] = [5, 20]

/** @param text a part of the title. For a large table, words or the beginning of the title */
export async function findByTitle(
  pageRecords: PageRecords,
  request: HttpRequest,
  text: string,
): Promise<JumpTarget[]> {
  const found: JumpTarget[] = []
  for (const { plural } of pageRecords.all) {
    if (found.length >= maxRowsFound) break
    await yieldToEventLoop()
    found.push(...(await findInRecord(pageRecords.find(plural, request), text)))
  }
  return found.slice(0, maxRowsFound)
}

async function findInRecord({ records }: PageRecord, text: string): Promise<JumpTarget[]> {
  const rights = await records.rights()
  if (!rights.may.read || !hasKey(rights)) return []
  const title = titleOf(rights)
  const field = rights.fields.find(({ name }) => name === title)
  if (field?.presentation.isFreeText !== true) return []
  const pattern = `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`
  const isLarge = records.searchedRows({ [`${title}.ilike`]: pattern }) > maxSearchedRows
  const where = isLarge
    ? rights.search.length > 0
      ? { search: text }
      : { [title]: { startsWith: text } }
    : { [title]: { ilike: pattern } }
  const rows = await records.list({ where: where as never, limit: maxRowsOfRecord })
  return rows.map((row) => ({
    record: rights.plural,
    key: rights.key.of(row),
    title: String(row[title]),
  }))
}
