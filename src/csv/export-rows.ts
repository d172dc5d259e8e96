/** Writes the rows of a list as CSV: `exportRows`. An import of the file stores the same values. Source: docs/csv.md. */
import type { TextValues } from '../http/query-string.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { toClientRow, type FieldDescription } from '../records/rest/record-rights.js'
import { writeLine } from './cell-text.js'
import { toCsvRecords, type ImportableRecords, type CsvValues } from './csv-records.js'
import { linkColumnsOf, toLinksCell, type LinkColumn } from './link-columns.js'

const exportRowsOptions = declareOptions({
  /** The filter and the order, as in the address of a list of `crud`: `{ status: 'open', orderBy: '-id' }`. Default: all rows, by key. */
  query: option.of<TextValues>(
    (value) => typeof value === 'object',
    "Write { status: 'open' }, or request.query.",
  ),
  /** The columns. Names that the caller may not read are left out. Default: all fields, and the keys of linked rows. */
  columns: option.of<readonly string[]>(Array.isArray, "Write ['name', 'price']."),
})

export interface ExportRowsOptions extends OptionsOf<typeof exportRowsOptions> {}

/**
 * Streams the rows of a list as CSV, in the order of the query. Values that a spreadsheet would run as a formula start with an
 * apostrophe. The first page is read before the promise is fulfilled, so that an error gets its status.
 *
 * ```ts
 * return reply(await exportRows(recordsAs(database, Ticket, request))).type('text/csv; charset=utf-8')
 * ```
 *
 * @param records of a caller, with its rights, or of the program: all fields that clients may see
 * @returns lines with `\r\n`
 * @throws {HttpError} 400 for a query that `crud` would refuse, 401 or 403
 */
export async function exportRows(
  records: ImportableRecords,
  options: ExportRowsOptions = {},
): Promise<AsyncIterable<string>> {
  exportRowsOptions.check('exportRows', options)
  const { query = {}, columns } = options
  const csvRecords = toCsvRecords('exportRows', records)
  const rights = await csvRecords.rights()
  const links = linkColumnsOf(rights)
  const allNames = [...rights.fields, ...links].map(({ name }) => name)
  const names = columns === undefined ? allNames : allNames.filter((name) => columns.includes(name))
  const linkColumns = links.filter(({ name }) => names.includes(name))
  const relations = [...new Set(linkColumns.map(({ relation }) => relation))]
  const pages = csvRecords.pages(query, relations)[Symbol.asyncIterator]()
  const jsonNames = rights.fields.filter(isJson).map(({ name }) => name)
  const toLine = (row: object): string => {
    const cells = addLinkedKeys(toClientRow(row, rights), linkColumns)
    for (const name of jsonNames) cells[name] = toJsonText(cells[name])
    return writeLine(names.map((name) => cells[name]))
  }
  const first = await pages.next()
  return (async function* () {
    try {
      yield writeLine(names)
      for (let page = first; page.done !== true; page = await pages.next())
        yield page.value.map(toLine).join('')
    } finally {
      await pages.return?.()
    }
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

/** Adds the cells of the link columns to the row. Changes the row. */
function addLinkedKeys(row: CsvValues, linkColumns: readonly LinkColumn[]): CsvValues {
  for (const column of linkColumns) row[column.name] = toLinksCell(row, column)
  return row
}
