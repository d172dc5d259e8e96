/**
 * Splits a CSV file (RFC 4180) into rows and cells, chunk by chunk. Works on bytes, and decodes one cell after another: the text of
 * 16 MB at once would hold up all other requests.
 */
import type { Cell } from './cell-text.js'
import { malformedCsv } from './csv-error.js'

/** A row of a file. Rows are counted from 1. */
export interface CsvLine {
  readonly row: number
  readonly cells: readonly Cell[]
  /** How much of what was read is parsed, from 0 to 1. */
  readonly share: number
}

/** Maximum number of cells in a row. No record has as many fields. */
const maxCells = 1000
/** Maximum size of a row in bytes, the same as the limit of JSON bodies. It bounds the time for one row. */
const maxRowBytes = 1_048_576
/** The first row is searched for a separator in this many bytes. */
const separatorBytes = 10_000

const quote = 0x22
const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * Yields the rows of a file in UTF-8. Accepts all line ends, and separators and line breaks in quotes. Skips empty lines, but counts
 * them. If the consumer stops, the chunks are closed.
 *
 * @param chunks without a byte order mark
 * @param maxRows after the first row, with empty lines
 * @throws {HttpError} 400 `MALFORMED_CSV` if a quote is never closed or followed by text, a row has more than 1,000 cells or
 *   1,048,576 bytes, or there are too many rows
 */
export async function* readLines(
  chunks: AsyncGenerator<Buffer, void>,
  maxRows = Infinity,
): AsyncGenerator<CsvLine, void> {
  const file = new FileWindow(chunks)
  try {
    const separator = await readSeparator(file)
    for (let row = 1; await file.hasMore(); row++) {
      if (row > maxRows + 1) throw malformedCsv(row, 'tooManyRows', tooManyRows(maxRows))
      let line = parseLine(file, separator, row)
      while (line === undefined) {
        // At least twice as many bytes, so that a row that comes in many chunks is parsed a few times only.
        await file.extend(2 * file.length)
        line = parseLine(file, separator, row)
      }
      file.skip(line.length)
      if (line.cells.length > 0) yield { row, cells: line.cells, share: file.parsedShare }
    }
  } finally {
    await chunks.return()
  }
}

function tooManyRows(maxRows: number): string {
  return `This row exceeds the limit of ${maxRows} rows.`
}

/** The part of a file that was read and not parsed. */
class FileWindow {
  #bytes: Buffer = Buffer.alloc(0)
  #start = 0
  #position = 0
  isComplete = false

  constructor(private readonly chunks: AsyncIterator<Buffer, void>) {}

  get length(): number {
    return this.#bytes.length - this.#start
  }

  /** How much of what was read is parsed, from 0 to 1. */
  get parsedShare(): number {
    return this.#position / (this.#position + this.length)
  }

  get bytes(): Buffer {
    return this.#start === 0 ? this.#bytes : this.#bytes.subarray(this.#start)
  }

  skip(bytes: number): void {
    this.#start += bytes
    this.#position += bytes
  }

  async hasMore(): Promise<boolean> {
    if (this.length === 0) await this.extend(1)
    return this.length > 0
  }

  /** Reads until the window has this many bytes, or the file ends. */
  async extend(length: number): Promise<void> {
    const parts = [this.bytes]
    let found = this.length
    while (found < length && !this.isComplete) {
      const next = await this.chunks.next()
      if (next.done === true) this.isComplete = true
      else {
        parts.push(next.value)
        found += next.value.length
      }
    }
    this.#bytes = parts.length === 1 ? this.bytes : Buffer.concat(parts, found)
    this.#start = 0
  }
}

/** A semicolon if the first line has one and no comma outside quotes. Spreadsheets in many countries use semicolons. */
async function readSeparator(file: FileWindow): Promise<number> {
  let line = ''
  do {
    await file.extend(Math.max(1, 2 * file.length))
    line = file.bytes.toString('latin1', 0, separatorBytes)
  } while (!file.isComplete && line.length < separatorBytes && !/[\r\n]/.test(line))
  const plain = (line.split(/[\r\n]/, 1)[0] ?? '').replace(/"(?:[^"]|"")*"/g, '')
  return (plain.includes(';') && !plain.includes(',') ? ';' : ',').charCodeAt(0)
}

interface ParsedLine {
  /** None for an empty line. */
  readonly cells: readonly Cell[]
  /** Bytes, with the line end. */
  readonly length: number
}

/** @returns the first line of the window; undefined if more of the file is needed to know where it ends */
function parseLine(
  { bytes, isComplete }: FileWindow,
  separator: number,
  row: number,
): ParsedLine | undefined {
  const blankEnd = findBlankEnd(bytes)
  let at = 0
  const cells: Cell[] = []
  let isOver = blankEnd !== undefined
  if (blankEnd !== undefined) at = afterLineEnd(bytes, blankEnd)
  while (!isOver) {
    const isQuoted = bytes[at] === quote
    const cell = isQuoted ? readQuoted(bytes, at + 1, row) : readPlain(bytes, at, separator)
    if (cell === undefined) {
      if (isComplete) throw malformedCsv(row, 'unclosedQuote', unclosedQuote)
      return undefined
    }
    const { text, end } = cell
    if (end > maxRowBytes) throw tooLong(row)
    cells.push({ text, quoted: isQuoted })
    if (cells.length > maxCells)
      throw malformedCsv(row, 'tooManyCells', `This row has more than ${maxCells} cells.`)
    if (bytes[end] === separator) at = end + 1
    else if (isLineEnd(bytes[end])) {
      at = afterLineEnd(bytes, end)
      isOver = true
    } else throw malformedCsv(row, 'textAfterQuote', textAfterQuote)
  }
  // The line may go on in the next chunk, also with the second half of its line end or a second quote.
  if (at >= bytes.length && !isComplete) return undefined
  const [first] = cells
  const isBlank = cells.length === 1 && first?.quoted === false && first.text.trim() === ''
  return { cells: isBlank ? [] : cells, length: Math.min(at, bytes.length) }
}

const unclosedQuote = 'This row has a quote that is never closed.'
const textAfterQuote = 'This row has text after a closing quote.'

/** The end of the file ends a line too. */
function isLineEnd(byte: number | undefined): boolean {
  return byte === undefined || byte === lineFeed || byte === carriageReturn
}

function afterLineEnd(bytes: Buffer, end: number): number {
  return end + (bytes[end] === carriageReturn && bytes[end + 1] === lineFeed ? 2 : 1)
}

/** @returns the end of the line if it has only spaces */
function findBlankEnd(bytes: Buffer): number | undefined {
  let at = 0
  while (bytes[at] === 0x20) at++
  return isLineEnd(bytes[at]) ? at : undefined
}

interface CellText {
  readonly text: string
  /** The position after the cell, or one after the limit if the cell is too long. */
  readonly end: number
}

function readPlain(bytes: Buffer, start: number, separator: number): CellText {
  let end = start
  while (end <= maxRowBytes && bytes[end] !== separator && !isLineEnd(bytes[end])) end++
  return { text: end > maxRowBytes ? '' : bytes.toString('utf8', start, end), end }
}

/**
 * @param start the position after the opening quote
 * @returns undefined if no quote closes the cell
 */
function readQuoted(bytes: Buffer, start: number, row: number): CellText | undefined {
  let escapes = 0
  let at = start
  while (bytes[at] !== quote || bytes[at + 1] === quote) {
    if (at > maxRowBytes) throw tooLong(row)
    if (at >= bytes.length) return undefined
    if (bytes[at] === quote) {
      escapes++
      at++
    }
    at++
  }
  const text =
    escapes === 0 ? bytes.toString('utf8', start, at) : unescape(bytes, { start, end: at, escapes })
  return { text, end: at + 1 }
}

/** Replaces doubled quotes by single ones. `replaceAll` takes 200 ms for a cell of 1 MiB that has nothing else. */
function unescape(
  source: Buffer,
  { start, end, escapes }: { start: number; end: number; escapes: number },
): string {
  const bytes = Buffer.allocUnsafe(end - start - escapes)
  let length = 0
  for (let at = start; at < end; at++) {
    const byte = source[at] ?? 0
    bytes[length++] = byte
    if (byte === quote) at++
  }
  return bytes.toString('utf8')
}

function tooLong(row: number): Error {
  return malformedCsv(row, 'rowTooLong', `This row has more than ${maxRowBytes} bytes.`)
}
