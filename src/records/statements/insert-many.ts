/** Writes many rows in one transaction, in pieces, so that other work can run in between. */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { HttpError } from '../../errors/http-error.js'
import { EngineFault } from '../../engines/contract/engine.js'
import type { Table } from '../model/table.js'
import { hasWriteHooks } from '../model/write-hooks.js'
import { Inserting, type AlikeRows } from './insert-pieces.js'
import { refuseUnknownOptions } from '../../errors/refuse-options.js'
import { createHooked } from './run-hooks.js'
import type { Source } from './source.js'
import { toUnavailable } from './write-faults.js'

export interface InsertManyOptions {
  /** Called after every 1,000 rows, and at the end. */
  onProgress?: (progress: InsertProgress) => void
}

export interface InsertProgress {
  readonly done: number
  /** Undefined if the number of rows is not known beforehand. */
  readonly total: number | undefined
}

const optionNames: ReadonlySet<string> = new Set(['onProgress'])

const batchSize = 1000
/** A piece is sent with this many rows, or with this many characters. */
const pieceSize = 10_000
const pieceLength = 4_000_000

export function insertMany(
  table: Table,
  source: Source,
  rows: Iterable<object>,
  options: InsertManyOptions,
): Promise<number> {
  refuseUnknownOptions('insertMany', options, optionNames)
  const { onProgress } = options
  const total = Array.isArray(rows) ? rows.length : undefined
  let isRead = false
  return source.atomically(async (transaction) => {
    // The rest of rows that can only be read once would be stored as if it were all of them.
    if (isRead && (rows[Symbol.iterator]() as unknown) === rows)
      throw toUnavailable(new EngineFault('conflict', 'The rows can be read once.'))
    isRead = true
    if (hasWriteHooks(table)) return createEach(table, transaction, rows, onProgress)
    const inserting = new Inserting(table, transaction)
    let checked = 0
    let done = 0
    // While the database writes a piece, the next one is checked.
    let writing = Promise.resolve()
    const write = async (piece: readonly AlikeRows[], count: number): Promise<void> => {
      await inserting.insert(piece)
      for (const end = done + count; done < end;) {
        done = Math.min(end, done + batchSize)
        onProgress?.({ done, total })
      }
    }
    const most = transaction.context.dialect.isLocal ? batchSize : pieceSize
    try {
      for (const piece of inPieces(rows, most)) {
        const values = await checkPiece(table, transaction, piece, checked)
        checked += piece.length
        const prepared = await inserting.prepare(values)
        await writing
        writing = write(prepared, piece.length)
        // It is waited for below; without this a failure in between would be nobody's.
        writing.catch(() => undefined)
        await setImmediate()
      }
    } catch (error) {
      // An error of earlier rows comes first, and ends the transaction.
      await writing
      throw error
    }
    await writing
    return done
  })
}

function* inPieces(rows: Iterable<object>, most: number): Generator<object[]> {
  let piece: object[] = []
  let length = 0
  // The first piece is small, so that the database begins soon.
  let size = batchSize
  for (const row of rows) {
    length += roughLength(row)
    if (piece.push(row) < size && length < pieceLength) continue
    size = Math.min(most, 2 * size)
    yield piece
    piece = []
    length = 0
  }
  if (piece.length > 0) yield piece
}

/** The approximate number of characters of its values. */
function roughLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (ArrayBuffer.isView(value)) return 2 * value.byteLength
  let length = 0
  for (const name in value) length += 8 + roughLength((value as Record<string, unknown>)[name])
  return length
}

/** For records with hooks, which run for each row. */
async function createEach(
  table: Table,
  source: Source,
  rows: Iterable<object>,
  onProgress: InsertManyOptions['onProgress'],
): Promise<number> {
  const total = Array.isArray(rows) ? rows.length : undefined
  let done = 0
  for (const row of rows) {
    try {
      await createHooked(table, source, row)
    } catch (error) {
      throw atRow(error, done)
    }
    if (++done % batchSize === 0) onProgress?.({ done, total })
  }
  if (done % batchSize !== 0) onProgress?.({ done, total })
  return done
}

/** @returns each row's values in the order of the columns */
async function checkPiece(
  table: Table,
  { context }: Source,
  rows: readonly object[],
  before: number,
): Promise<unknown[][]> {
  const { create } = context.checksOf(table)
  const { writeRow } = context.codecOf(table)
  const { property, generated } = table.key
  const checked: unknown[][] = []
  for (const [index, row] of rows.entries()) {
    try {
      const answer = create(row)
      const record = answer instanceof Promise ? await answer : answer
      if (table.version !== undefined) record[table.version.property] = 1
      if (generated === 'uuid') record[property] ??= randomUUID()
      checked.push(writeRow(record))
    } catch (error) {
      throw atRow(error, before + index)
    }
    if (index % batchSize === batchSize - 1) await setImmediate()
  }
  return checked
}

/** Adds the row's number to an error: `12.price must be a number`. */
export function atRow(error: unknown, row: number): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const errors = error.errors.map((fault) => ({
    ...fault,
    path: fault.path === '' ? String(row) : `${row}.${fault.path}`,
    message: `${row}.${fault.message}`,
  }))
  const sentence = errors.map(({ message }) => message).join('; ')
  return new HttpError(error.status, sentence, { code: error.code, errors, cause: error })
}
