/**
 * Reads and writes CSV (RFC 4180) as spreadsheets do. Text that a spreadsheet would run as a formula gets a leading apostrophe.
 */

/** The text of a cell, and whether it was quoted. A quoted empty cell is an empty text. An unquoted one has no value. */
export interface Cell {
  readonly text: string
  readonly quoted: boolean
}

/** The first characters of formulas. Spreadsheets also accept a leading line feed and the full-width forms. */
const formulaStart = '[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]'
const formula = new RegExp(`^'*${formulaStart}`)
const escapedFormula = new RegExp(`^'+${formulaStart}`)
/** What separates cells somewhere: spreadsheets of many countries read `;`, and pasted text is divided at tabs. */
const separators = /[",;\t\r\n]/
const numberText = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** @param value a JSON value */
export function writeCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === '') return '""'
  const safe = formula.test(text) && !numberText.test(text) ? `'${text}` : text
  return separators.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** @returns undefined unless the text is a number as `writeCell` and spreadsheets write it, such as `1e-7` and `1E+21` */
export function readNumber(text: string): number | undefined {
  const value = numberText.test(text) ? Number(text) : NaN
  return Number.isFinite(value) ? value : undefined
}

export function writeLine(values: readonly unknown[]): string {
  return `${values.map(writeCell).join(',')}\r\n`
}

/** Reverses the escaping of `writeCell`. */
export function readCell(text: string): string {
  return escapedFormula.test(text) ? text.slice(1) : text
}

/** A row of a file. Rows are counted from 1. */
export interface CsvLine {
  readonly row: number
  readonly cells: readonly Cell[]
  /** The position in the file after the row. */
  readonly end: number
}

/** A syntax error in a row. Rows are counted from 1. */
export class CsvError extends Error {
  constructor(
    readonly row: number,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum number of cells in a row. No record has as many fields. */
const maxCells = 1000
/** Maximum size of a row in bytes, the same as the limit of JSON bodies. It bounds the time for one row. */
const maxRowBytes = 1_048_576
/** Maximum number of lines, including empty lines and the header. */
const maxLines = 100_001

const quote = 0x22
const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * Yields the rows of a file in UTF-8. Accepts a byte order mark, all line ends, and separators and line breaks in quotes. Skips
 * empty lines, but counts them. Works on bytes, and decodes one cell after another: the text of 16 MB at once would hold up all
 * other requests.
 *
 * @throws {CsvError} if a quote is never closed or followed by text, or a row has more than 1,000 cells or 1,048,576 bytes
 */
export function* readLines(file: Buffer): Generator<CsvLine, void> {
  let at = file[0] === 0xef && file[1] === 0xbb && file[2] === 0xbf ? 3 : 0
  const separator = separatorOf(file, at)
  let row = 0
  while (at < file.length) {
    if (++row > maxLines) throw new CsvError(row, `exceeds the limit of ${maxLines - 1} rows`)
    const blankEnd = findBlankEnd(file, at)
    if (blankEnd !== undefined) {
      at = afterLineEnd(file, blankEnd)
      continue
    }
    const cells: Cell[] = []
    const maxEnd = at + maxRowBytes
    let isOver = false
    while (!isOver) {
      const quoted = file[at] === quote
      const { text, end } = quoted
        ? readQuoted(file, at + 1, row, maxEnd)
        : readPlain(file, at, separator, maxEnd)
      if (end > maxEnd) throw tooLong(row)
      cells.push({ text, quoted })
      if (cells.length > maxCells) throw new CsvError(row, `has more than ${maxCells} cells`)
      if (file[end] === separator) at = end + 1
      else if (isLineEnd(file[end])) {
        at = afterLineEnd(file, end)
        isOver = true
      } else throw new CsvError(row, 'has text after a closing quote')
    }
    const [first] = cells
    if (cells.length > 1 || first?.quoted === true || first?.text.trim() !== '')
      yield { row, cells, end: at }
  }
}

/** Returns a semicolon if the first line has one and no comma outside quotes. Spreadsheets in many countries use semicolons. */
function separatorOf(file: Buffer, start: number): number {
  const line = file.toString('latin1', start, start + 10_000).split(/[\r\n]/, 1)[0] ?? ''
  const plain = line.replace(/"(?:[^"]|"")*"/g, '')
  return (plain.includes(';') && !plain.includes(',') ? ';' : ',').charCodeAt(0)
}

/** The end of the file ends a line too. */
function isLineEnd(byte: number | undefined): boolean {
  return byte === undefined || byte === lineFeed || byte === carriageReturn
}

function afterLineEnd(file: Buffer, end: number): number {
  return end + (file[end] === carriageReturn && file[end + 1] === lineFeed ? 2 : 1)
}

/** @returns the end of the line if it has only spaces */
function findBlankEnd(file: Buffer, start: number): number | undefined {
  let at = start
  while (file[at] === 0x20) at++
  return isLineEnd(file[at]) ? at : undefined
}

interface CellText {
  readonly text: string
  /** The position after the cell, or one after `maxEnd` if the cell is too long. */
  readonly end: number
}

function readPlain(file: Buffer, start: number, separator: number, maxEnd: number): CellText {
  let end = start
  while (end <= maxEnd && file[end] !== separator && !isLineEnd(file[end])) end++
  return { text: end > maxEnd ? '' : file.toString('utf8', start, end), end }
}

/**
 * @param start the position after the opening quote
 * @throws {CsvError} if no quote closes the cell before `maxEnd`
 */
function readQuoted(file: Buffer, start: number, row: number, maxEnd: number): CellText {
  let escapes = 0
  let at = start
  while (file[at] !== quote || file[at + 1] === quote) {
    if (at > maxEnd) throw tooLong(row)
    if (at >= file.length) throw new CsvError(row, 'has a quote that is never closed')
    if (file[at] === quote) {
      escapes++
      at++
    }
    at++
  }
  const text = escapes === 0 ? file.toString('utf8', start, at) : unescape(file, start, at, escapes)
  return { text, end: at + 1 }
}

/** Replaces doubled quotes by single ones. `replaceAll` takes 200 ms for a cell of 1 MiB that has nothing else. */
function unescape(file: Buffer, start: number, end: number, escapes: number): string {
  const bytes = Buffer.allocUnsafe(end - start - escapes)
  let length = 0
  for (let at = start; at < end; at++) {
    const byte = file[at] ?? 0
    bytes[length++] = byte
    if (byte === quote) at++
  }
  return bytes.toString('utf8')
}

function tooLong(row: number): CsvError {
  return new CsvError(row, `has more than ${maxRowBytes} bytes`)
}
