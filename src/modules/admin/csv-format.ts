/**
 * CSV (RFC 4180) as spreadsheets write and read it. What a spreadsheet would take for a formula begins with an apostrophe.
 * Source: specification, Admin page 9.
 */

/** One cell: its text, and whether it stood in quotes, by which an empty text differs from nothing. */
export interface Cell {
  readonly text: string
  readonly quoted: boolean
}

/** Also a leading line feed and the full-width forms, which spreadsheets read as the same signs. */
const formulaStart = '[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]'
const formula = new RegExp(`^'*${formulaStart}`)
const escapedFormula = new RegExp(`^'+${formulaStart}`)
const number = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** @param value as JSON says it */
export function writeCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === '') return '""'
  const safe = formula.test(text) && !number.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function writeLine(values: readonly unknown[]): string {
  return `${values.map(writeCell).join(',')}\r\n`
}

/** The text that `writeCell` was given. */
export function readCell(text: string): string {
  return escapedFormula.test(text) ? text.slice(1) : text
}

/** One line of a file; the first is 1. */
export interface Line {
  readonly row: number
  readonly cells: readonly Cell[]
}

/** What is no CSV, with the row in which it stands; the first is 1. */
export class CsvFault extends Error {
  constructor(
    readonly row: number,
    message: string,
  ) {
    super(message)
  }
}

/** Columns of a line that are read; no record has as many. */
const mostCells = 1000
/** Characters of a row, as many as a JSON body may have bytes. It bounds the time that one row takes. */
const mostCharacters = 1_048_576
/** Lines that are read, the empty ones too. */
const mostLines = 100_001

/**
 * The rows of a file, one at a time. Takes a byte order mark, all line ends, and commas, quotes and line breaks in quotes; empty
 * lines are passed over, but counted.
 *
 * @throws {CsvFault} for quotes that are never closed, text behind them, rows of more than 1,000 cells, and rows of more
 * than 1,048,576 characters
 */
export function* readLines(file: string): Generator<Line, void> {
  let at = file.charCodeAt(0) === 0xfeff ? 1 : 0
  const separator = separatorOf(file, at)
  let row = 0
  while (at < file.length) {
    if (++row > mostLines) throw new CsvFault(row, `is behind the ${mostLines - 1} rows of a file`)
    const cells: Cell[] = []
    const longest = at + mostCharacters
    let isOver = false
    while (!isOver) {
      const quoted = file[at] === '"'
      let end: number
      let text: string
      if (quoted) {
        const closing = findClosing(file, at + 1, row, longest)
        text = file.slice(at + 1, closing)
        if (text.includes('"')) text = text.replaceAll('""', '"')
        end = closing + 1
      } else {
        end = findEnd(file, at, separator, longest)
        text = file.slice(at, end)
      }
      if (end > longest) throw tooLong(row)
      cells.push({ text, quoted })
      if (cells.length > mostCells) throw new CsvFault(row, `has more than ${mostCells} cells`)
      const sign = file[end]
      if (sign === separator) at = end + 1
      else if (sign === undefined || sign === '\n' || sign === '\r') {
        at = end + (sign === '\r' && file[end + 1] === '\n' ? 2 : 1)
        isOver = true
      } else throw new CsvFault(row, 'has text behind a closing quote')
    }
    const [first] = cells
    if (cells.length > 1 || first?.quoted === true || first?.text.trim() !== '')
      yield { row, cells }
  }
}

/** A semicolon where the first line has one outside of quotes and no comma: spreadsheets of many countries write it. */
function separatorOf(file: string, start: number): string {
  const line = file.slice(start, start + 10_000).split(/[\r\n]/, 1)[0] ?? ''
  const plain = line.replace(/"(?:[^"]|"")*"/g, '')
  return plain.includes(';') && !plain.includes(',') ? ';' : ','
}

/** @returns the end of a cell without quotes; a place behind `longest` if it is longer */
function findEnd(file: string, start: number, separator: string, longest: number): number {
  for (let at = start; at < file.length; at++) {
    if (at > longest) return at
    const sign = file[at]
    if (sign === separator || sign === '\n' || sign === '\r') return at
  }
  return file.length
}

/** @throws {CsvFault} no quote closes the cell, or only one behind `longest` */
function findClosing(file: string, start: number, row: number, longest: number): number {
  for (let at = file.indexOf('"', start); at !== -1; at = file.indexOf('"', at + 2)) {
    if (at > longest) throw tooLong(row)
    if (file[at + 1] !== '"') return at
  }
  throw new CsvFault(row, 'has a quote that is never closed')
}

function tooLong(row: number): CsvFault {
  return new CsvFault(row, `has more than ${mostCharacters} characters`)
}
