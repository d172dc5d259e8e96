/** Writes many rows in one transaction, piece by piece, letting others have a turn between them. */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { HttpError } from '../../errors/http-error.js'
import { type Later, after } from '../../core/later.js'
import { EngineFault, type Runner } from '../engines/engine.js'
import type { Column, Table } from '../model/table.js'
import { quote } from '../schema/ddl.js'
import { toIds } from './delete-row.js'
import { refuseUnknownOptions } from './refuse-options.js'
import { createHooked } from './run-hooks.js'
import type { Source } from './source.js'
import { toClientError, toUnavailable } from './write-faults.js'

export interface InsertManyOptions {
  /** Told of every 1,000 rows that were written, and at the end. */
  onProgress?: (progress: InsertProgress) => void
}

export interface InsertProgress {
  readonly done: number
  /** Undefined where the rows' number is not known beforehand. */
  readonly total: number | undefined
}

const optionNames: ReadonlySet<string> = new Set(['onProgress'])

const batchSize = 1000
/** One journey carries as many: a piece is full with this many rows, or with this many characters. */
const pieceSize = 10_000
const pieceLength = 4_000_000
/** PostgreSQL counts placeholders with 16 bits. */
const mostValues = 65_535
/** Fewer rows are not worth asking for the types of their columns. */
const fewRows = 200

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
    // What is left of rows that come once would be stored as if it were all of them.
    if (isRead && (rows[Symbol.iterator]() as unknown) === rows)
      throw toUnavailable(new EngineFault('conflict', 'The rows can be read once.'))
    isRead = true
    if (table.hooks !== undefined) return createEach(table, transaction, rows, onProgress)
    const inserting = new Inserting(table, transaction)
    let checked = 0
    let done = 0
    // While the database writes a piece, the next one is checked.
    let writing = Promise.resolve()
    const write = async (piece: unknown[][]): Promise<void> => {
      await inserting.insert(piece)
      for (const end = done + piece.length; done < end;) {
        done = Math.min(end, done + batchSize)
        onProgress?.({ done, total })
      }
    }
    const most = transaction.context.dialect.isLocal ? batchSize : pieceSize
    try {
      for (const piece of inPieces(rows, most)) {
        const values = await checkPiece(table, transaction, piece, checked)
        checked += piece.length
        await writing
        writing = write(values)
        // It is waited for below; without this a failure in between would be nobody's.
        writing.catch(() => undefined)
        await setImmediate()
      }
    } catch (error) {
      // What fails in the rows before comes first, and the transaction ends behind it.
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
  // The first is small, so that the database begins soon.
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

/** About how many characters its values are. */
function roughLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (ArrayBuffer.isView(value)) return 2 * value.byteLength
  let length = 0
  for (const name in value) length += 8 + roughLength((value as Record<string, unknown>)[name])
  return length
}

/** Rows of a record with hooks, which run for each. */
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

class Inserting {
  readonly #table: Table
  readonly #source: Source
  readonly #runner: Runner
  /** Of the table as it is, by column; asked for once. */
  #types: Promise<ReadonlyMap<unknown, string>> | undefined

  constructor(table: Table, source: Source) {
    this.#table = table
    this.#source = source
    this.#runner = source.runner()
  }

  async insert(rows: unknown[][]): Promise<void> {
    const { columns, key } = this.#table
    const place = columns.indexOf(key)
    const given: unknown[][] = []
    const without: unknown[][] = []
    for (const values of rows) {
      if (values[place] !== null) given.push(values)
      else {
        values.splice(place, 1)
        without.push(values)
      }
    }
    try {
      await this.#insertAlike(given, columns)
      await this.#insertAlike(
        without,
        columns.filter((column) => column !== key),
      )
    } catch (error) {
      throw toClientError(error, this.#table, 'write')
    }
  }

  /** Rows that all have a key, or all have none. */
  async #insertAlike(rows: readonly unknown[][], columns: readonly Column[]): Promise<void> {
    if (rows.length === 0) return
    const { feed } = this.#source
    const isFollowed = await feed.follows(this.#table, this.#runner)
    if (this.#dialect.lists !== undefined && rows.length >= fewRows && columns.length > 0)
      await this.#insertLists(rows, columns, isFollowed)
    else await this.#insertValues(rows, columns, isFollowed)
    // Somebody may follow when it is committed, who then learns that there is more than can be named.
    if (!isFollowed) this.#source.changed({ event: 'lost', table: this.#table, ids: [] })
  }

  /** One statement for all, a list of values for each column. */
  async #insertLists(
    rows: readonly unknown[][],
    columns: readonly Column[],
    isFollowed: boolean,
  ): Promise<void> {
    const { lists } = this.#dialect
    if (lists === undefined) return
    this.#types ??= this.#readTypes(lists.types)
    const types = await this.#types
    const named = columns.map(({ name }) => types.get(name) ?? 'text')
    const plan = this.#plans.insertLists(columns, named, isFollowed ? 'key' : 'nothing')
    const values = columns.map((_, place) => lists.write(rows, place))
    await this.#run(plan.statement, values, isFollowed)
  }

  async #readTypes(sql: string): Promise<ReadonlyMap<unknown, string>> {
    const found = await this.#runner.rows({ sql, writes: false, isFresh: true }, [
      quote(this.#table.name),
    ])
    return new Map(found.map(([name, type]) => [name, String(type)]))
  }

  /** One by one where a statement costs no journey. */
  async #insertValues(
    rows: readonly unknown[][],
    columns: readonly Column[],
    isFollowed: boolean,
  ): Promise<void> {
    const most = Math.max(1, Math.floor(mostValues / Math.max(1, columns.length)))
    const isSingle = this.#dialect.isLocal || columns.length === 0
    const size = isSingle ? 1 : Math.min(batchSize, most)
    const returns = isFollowed ? 'key' : 'nothing'
    for (let start = 0; start < rows.length; start += size) {
      const part = isSingle ? undefined : rows.slice(start, start + size)
      const { statement } = this.#plans.insert(columns, part?.length ?? 1, returns)
      const values = part?.flat() ?? rows[start] ?? []
      const written = this.#run(statement, values, isFollowed)
      if (written instanceof Promise) await written
    }
  }

  #run(
    statement: Parameters<Runner['rows']>[0],
    values: readonly unknown[],
    isFollowed: boolean,
  ): Later<unknown> {
    if (!isFollowed) return this.#runner.change(statement, values)
    return after(this.#runner.rows(statement, values), (found) => {
      const ids = toIds(this.#table, found)
      this.#source.changed({ event: 'created', table: this.#table, ids })
    })
  }

  get #dialect() {
    return this.#source.context.dialect
  }

  get #plans() {
    return this.#source.context.plansOf(this.#table)
  }
}

/** Says which row it was: `12.price must be a number`. */
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
