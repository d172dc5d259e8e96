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
const numeric = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** @param value a JSON value */
export function writeCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === '') return '""'
  const safe = formula.test(text) && !numeric.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function writeLine(values: readonly unknown[]): string {
  return `${values.map(writeCell).join(',')}\r\n`
}

/** Reverses the escaping of `writeCell`. */
export function readCell(text: string): string {
  return escapedFormula.test(text) ? text.slice(1) : text
}

/** A row of a file. Rows are counted from 1. */
export interface Line {
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
/** Maximum number of characters in a row, the same as the limit of JSON bodies. It bounds the time for one row. */
const maxRowCharacters = 1_048_576
/** Maximum number of lines, including empty lines and the header. */
const maxLines = 100_001

/**
 * Yields the rows of a file. Accepts a byte order mark, all line ends, and separators and line breaks in quotes. Skips empty lines,
 * but counts them.
 *
 * @throws {CsvError} if a quote is never closed or followed by text, or a row has more than 1,000 cells or 1,048,576 characters
 */
export function* readLines(file: string): Generator<Line, void> {
  let at = file.charCodeAt(0) === 0xfeff ? 1 : 0
  const separator = separatorOf(file, at)
  let row = 0
  while (at < file.length) {
    if (++row > maxLines) throw new CsvError(row, `exceeds the limit of ${maxLines - 1} rows`)
    const cells: Cell[] = []
    const maxEnd = at + maxRowCharacters
    let isOver = false
    while (!isOver) {
      const quoted = file[at] === '"'
      let end: number
      let text: string
      if (quoted) {
        const closing = findClosing(file, at + 1, row, maxEnd)
        text = file.slice(at + 1, closing)
        if (text.includes('"')) text = text.replaceAll('""', '"')
        end = closing + 1
      } else {
        end = findEnd(file, at, separator, maxEnd)
        text = file.slice(at, end)
      }
      if (end > maxEnd) throw tooLong(row)
      cells.push({ text, quoted })
      if (cells.length > maxCells) throw new CsvError(row, `has more than ${maxCells} cells`)
      const sign = file[end]
      if (sign === separator) at = end + 1
      else if (sign === undefined || sign === '\n' || sign === '\r') {
        at = end + (sign === '\r' && file[end + 1] === '\n' ? 2 : 1)
        isOver = true
      } else throw new CsvError(row, 'has text after a closing quote')
    }
    const [first] = cells
    if (cells.length > 1 || first?.quoted === true || first?.text.trim() !== '')
      yield { row, cells, end: at }
  }
}

/** Returns a semicolon if the first line has one and no comma outside quotes. Spreadsheets in many countries use semicolons. */
function separatorOf(file: string, start: number): string {
  const line = file.slice(start, start + 10_000).split(/[\r\n]/, 1)[0] ?? ''
  const plain = line.replace(/"(?:[^"]|"")*"/g, '')
  return plain.includes(';') && !plain.includes(',') ? ';' : ','
}

/** @returns the end of an unquoted cell, or a position after `maxEnd` if the cell is too long */
function findEnd(file: string, start: number, separator: string, maxEnd: number): number {
  for (let at = start; at < file.length; at++) {
    if (at > maxEnd) return at
    const sign = file[at]
    if (sign === separator || sign === '\n' || sign === '\r') return at
  }
  return file.length
}

/** @throws {CsvError} if no quote closes the cell before `maxEnd` */
function findClosing(file: string, start: number, row: number, maxEnd: number): number {
  for (let at = file.indexOf('"', start); at !== -1; at = file.indexOf('"', at + 2)) {
    if (at > maxEnd) throw tooLong(row)
    if (file[at + 1] !== '"') return at
  }
  throw new CsvError(row, 'has a quote that is never closed')
}

function tooLong(row: number): CsvError {
  return new CsvError(row, `has more than ${maxRowCharacters} characters`)
}
