/** Reads the rows of a CSV file for programs: `readCsv`. Source: docs/csv.md. */
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { readCell } from './cell-text.js'
import { readLines } from './rows.js'
import { checkSource, toUtf8, type CsvSource } from './utf8.js'

const readCsvOptions = declareOptions({
  /** A file with more rows after the first one is an error. Empty lines count. Default: no limit. */
  maxRows: option.integer(1),
})

export interface ReadCsvOptions extends OptionsOf<typeof readCsvOptions> {}

/** A row of a CSV file. */
export interface CsvRow {
  /** The row in the file. The first one is row 1. Empty lines count, line breaks in quotes do not. */
  readonly row: number
  /** The texts of the cells, without quotes and without the apostrophe before a formula. */
  readonly cells: readonly string[]
}

/**
 * Reads a CSV file row by row, as it arrives: UTF-8 or UTF-16, with commas or semicolons, any line ends and quotes. Empty lines are
 * left out. If the loop ends early, the stream is closed.
 *
 * ```ts
 * for await (const { row, cells: [name, price] } of readCsv(file)) …
 * ```
 *
 * @param source a stream, an uploaded file, a text or bytes
 * @throws {HttpError} 400 `MALFORMED_CSV` with the row, as the loop reaches it
 */
export function readCsv(
  source: CsvSource,
  options: ReadCsvOptions = {},
): AsyncGenerator<CsvRow, void> {
  checkSource('readCsv', source)
  readCsvOptions.check('readCsv', options)
  return readRows(source, options.maxRows)
}

async function* readRows(source: CsvSource, maxRows?: number): AsyncGenerator<CsvRow, void> {
  for await (const { row, cells } of readLines(toUtf8(source), maxRows))
    yield { row, cells: cells.map(({ text }) => readCell(text)) }
}
