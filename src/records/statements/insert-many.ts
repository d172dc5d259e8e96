/**
 * Writes many rows in one transaction, in chunks, so that other work can run in between. A source is read at most two
 * chunks ahead of the database. Source: decisions, Records: writes.
 */
import { setImmediate } from 'node:timers/promises'
import type { Table, Instance } from '../model/table.js'
import { setUuidKey } from '../model/partitions.js'
import { isolationOf } from '../model/write-hooks.js'
import { BatchInserter, type PreparedRows } from './batch-inserter.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import { createHooked } from './hooks.js'
import { withReadKeys } from './row-keys.js'
import type { Source } from './source.js'
import { conflictRetry } from './client-errors.js'
import {
  createInOrder,
  orderByReferences,
  PostponedReferences,
  selfReferencesOf,
} from './reference-order.js'
import { checkForeignKeys } from './write-row.js'
import { atRow, toKeyText } from './write-tree.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { keyInValues } from '../model/codec.js'

const insertManyOptions = declareOptions({
  /** Called after every 1,000 rows, and at the end. */
  onProgress: option.any<(progress: InsertProgress) => void>(),
})

export interface InsertManyOptions extends OptionsOf<typeof insertManyOptions> {}

export interface InsertProgress {
  readonly done: number
  /** Undefined if the number of rows is unknown until the end. */
  readonly total: number | undefined
}

/** A list, a generator or a stream: the operands of `for await`. */
export type Rows<R> = Iterable<R> | AsyncIterable<R>

/** The number of a row in the call. Undefined for a row of an earlier chunk. */
type RowNumbers = (row: readonly unknown[]) => number | undefined

const batchSize = 1000
/** A chunk is sent when it has this number of characters, or the number of rows that the dialect sets. */
const chunkLength = 4_000_000

export function insertMany(
  table: Table,
  source: Source,
  rows: Rows<object>,
  options: InsertManyOptions,
): Promise<number> {
  insertManyOptions.check('insertMany', options)
  if (!isIterable(rows))
    throw new TypeError('insertMany: takes a list, an iterable or an async iterable of rows.')
  const { onProgress } = options
  const total = Array.isArray(rows) ? rows.length : undefined
  let isRead = false
  return source.atomically(
    async (transaction) => {
      // The source can only be read once and was partly read, so the rest would be stored as if it were complete.
      if (isRead && isReadOnce(rows)) throw conflictRetry()
      isRead = true
      if (table.hasWriteHooks) return createEach(table, transaction, rows, onProgress)
      const inserting = new BatchInserter(table, transaction)
      const arrivals =
        selfReferencesOf(table).length === 0 ? undefined : new ArrivalOrder(table, transaction)
      let checked = 0
      let done = 0
      // While the database writes a chunk, the next chunk is checked.
      let writing = Promise.resolve()
      const source = new ChunkSource(rows, transaction.context.dialect.bulk.rows.chunkSize)
      const write = async (
        chunk: readonly PreparedRows[],
        count: number,
        numberOf: RowNumbers = () => undefined,
      ): Promise<void> => {
        await inserting.insert(chunk, numberOf)
        for (const end = done + count; done < end;) {
          done = Math.min(end, done + batchSize)
          onProgress?.({ done, total })
        }
      }
      try {
        for await (const chunk of source.chunks()) {
          const first = checked
          const values = await checkChunk(table, transaction, chunk, first)
          checked += chunk.length
          const numberOf: RowNumbers = (row) =>
            values.includes(row as unknown[]) ? first + values.indexOf(row as unknown[]) : undefined
          const ready = arrivals === undefined ? values : await arrivals.takeReady(values)
          const count = ready.length
          const prepared = await inserting.prepare(ready)
          await writing
          writing = write(prepared, count, numberOf)
          // The promise is awaited below. If the write fails, this handler closes a slow source early.
          writing.catch(() => {
            source.close()
          })
          await setImmediate()
        }
      } catch (error) {
        // An error of earlier rows takes precedence, and ends the transaction.
        await writing
        throw error
      }
      await writing
      if (arrivals !== undefined) {
        const last = arrivals.takeRest()
        const count = last.length
        if (count > 0) await write(await inserting.prepare(last), count)
        await arrivals.references.write()
      }
      return done
    },
    isolationOf([table]),
  )
}

/** Reads rows in chunks. An async source is read through its own iterator, so that it can be closed during a wait. */
class ChunkSource {
  readonly #rows: Rows<object>
  readonly #maxChunkSize: number
  #iterator: AsyncIterator<object> | undefined
  #isClosed = false

  constructor(rows: Rows<object>, maxChunkSize: number) {
    this.#rows = rows
    this.#maxChunkSize = maxChunkSize
  }

  chunks(): AsyncIterable<object[]> | Iterable<object[]> {
    const rows = this.#rows
    return Symbol.asyncIterator in rows ? this.#readAsync(rows) : this.#readSync(rows)
  }

  /** Ends the reading. A pending read is not awaited if the source can be closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const ended = this.#iterator?.return?.()
    ended?.catch(() => undefined)
  }

  *#readSync(rows: Iterable<object>): Generator<object[]> {
    const chunks = new ChunkCollector(this.#maxChunkSize)
    for (const row of rows) {
      const chunk = chunks.add(row)
      if (chunk !== undefined) yield chunk
    }
    if (chunks.rest.length > 0) yield chunks.rest
  }

  async *#readAsync(rows: AsyncIterable<object>): AsyncGenerator<object[]> {
    const chunks = new ChunkCollector(this.#maxChunkSize)
    const iterator = (this.#iterator = rows[Symbol.asyncIterator]())
    let isOver = false
    try {
      while (!this.#isClosed) {
        const next: IteratorResult<object, unknown> = await iterator.next()
        if (next.done === true) {
          isOver = true
          break
        }
        const chunk = chunks.add(next.value)
        if (chunk !== undefined) yield chunk
      }
      if (chunks.rest.length > 0) yield chunks.rest
    } catch (error) {
      // A source that throws has ended.
      isOver = true
      throw error
    } finally {
      if (!isOver) this.close()
    }
  }
}

/** Collects rows into chunks. */
class ChunkCollector {
  rest: object[] = []
  #length = 0
  // The first chunk is small, so that the database starts early.
  #size = batchSize
  readonly #maxChunkSize: number

  constructor(maxChunkSize: number) {
    this.#maxChunkSize = maxChunkSize
  }

  /** @returns a full chunk, if there is one */
  add(row: object): object[] | undefined {
    this.#length += roughLength(row)
    if (this.rest.push(row) < this.#size && this.#length < chunkLength) return undefined
    this.#size = Math.min(this.#maxChunkSize, 2 * this.#size)
    this.#length = 0
    const chunk = this.rest
    this.rest = []
    return chunk
  }
}

function isIterable(rows: unknown): boolean {
  return (
    typeof rows === 'object' &&
    rows !== null &&
    (Symbol.asyncIterator in rows || Symbol.iterator in rows)
  )
}

/**
 * True for sources that can only be read once. All async sources count, because most of them cannot be read again.
 */
function isReadOnce(rows: Rows<object>): boolean {
  return Symbol.asyncIterator in rows || (rows[Symbol.iterator]() as unknown) === rows
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

/**
 * Creates rows one by one, for records with hooks. The rows of a list may refer to each other in any order, those of a
 * stream only to earlier ones.
 */
async function createEach(
  table: Table,
  source: Source,
  rows: Rows<object>,
  onProgress: InsertManyOptions['onProgress'],
): Promise<number> {
  const total = Array.isArray(rows) ? rows.length : undefined
  let done = 0
  const create = async (values: object, index: number): Promise<Instance> => {
    const record = await createHooked(table, source, values).catch((error: unknown) => {
      throw atRow(error, index)
    })
    if (++done % batchSize === 0) onProgress?.({ done, total })
    return record
  }
  if (Array.isArray(rows))
    await createInOrder(table, source, rows as readonly Instance[], {
      valuesOf: (row) => row,
      create: (_, values, index) => create(values, index),
    })
  else for await (const row of rows) await create(row, done)
  if (done % batchSize !== 0) onProgress?.({ done, total })
  return done
}

/**
 * Orders rows by their references to rows of the same record. A row whose reference was not seen yet, in the call or in
 * the database, waits until the end.
 */
class ArrivalOrder {
  /** References of circles, to be written after all rows. */
  readonly references: PostponedReferences
  readonly #table: Table
  readonly #source: Source
  /** The keys of rows that can be referred to. */
  readonly #knownKeys = new Set<string>()
  #waitingRows: unknown[][] = []

  constructor(table: Table, source: Source) {
    this.#table = table
    this.#source = source
    this.references = new PostponedReferences(table, source)
  }

  /** @param rows values of all columns, in the driver's form */
  async takeReady(rows: unknown[][]): Promise<unknown[][]> {
    const ordered = this.#order(rows)
    const storedKeys = await this.#storedKeys(rows)
    return ordered.filter((row) => {
      const isReady = this.#referencesOf(row).every(
        (key) => this.#knownKeys.has(key) || storedKeys.has(key),
      )
      if (!isReady) this.#waitingRows.push(row)
      else {
        const key = this.#keyOf(row, this.#table.key)
        if (key !== undefined && key !== null) this.#knownKeys.add(toKeyText(key))
      }
      return isReady
    })
  }

  /** The rows that still wait, in an order in which each follows the rows that it refers to. */
  takeRest(): unknown[][] {
    const rows = this.#order(this.#waitingRows)
    this.#waitingRows = []
    return rows
  }

  /** Puts rows behind the rows that they refer to. References of circles become null, and are written later. */
  #order(rows: unknown[][]): unknown[][] {
    const ordered = orderByReferences(this.#table, rows, (row, column) => this.#keyOf(row, column))
    if (ordered === undefined) return rows
    return ordered.map(({ index, postponed }) => {
      const row = rows[index] as unknown[]
      for (const column of postponed) {
        const key = this.#keyOf(row, this.#table.key)
        this.references.add(column, key, this.#keyOf(row, column))
        for (const part of storedColumnsOf(column)) row[this.#position(part)] = null
      }
      return row
    })
  }

  /** The keys of other rows that a row refers to. */
  #referencesOf(row: readonly unknown[]): string[] {
    const ownKey = toKeyText(this.#keyOf(row, this.#table.key))
    return selfReferencesOf(this.#table)
      .map((column) => this.#keyOf(row, column))
      .filter((key) => key !== undefined && key !== null)
      .map(toKeyText)
      .filter((key) => key !== ownKey)
  }

  /** The keys that rows refer to, that are not in this call, and whose rows are stored. */
  async #storedKeys(rows: readonly (readonly unknown[])[]): Promise<ReadonlySet<string>> {
    const { key } = this.#table
    const ownKeys = new Set(rows.map((row) => toKeyText(this.#keyOf(row, key))))
    const missingKeys = new Map<string, unknown>()
    for (const row of rows)
      for (const column of selfReferencesOf(this.#table)) {
        const value = this.#keyOf(row, column) ?? null
        const text = toKeyText(value)
        if (value !== null && !ownKeys.has(text) && !this.#knownKeys.has(text))
          missingKeys.set(text, value)
      }
    if (missingKeys.size === 0) return noKeys
    const { context } = this.#source
    const packed = context.dialect.lists.encode(key, [...missingKeys.values()])
    const plan = context.plansOf(this.#table).undeleted()
    const stored = await this.#source
      .runner()
      .run(plan.statement, arrangeValues(plan, [packed]), 'rows')
    const found = withReadKeys(this.#table, this.#source, stored)
    return new Set(found.map(([storedKey]) => toKeyText(storedKey)))
  }

  /** The key or reference in the values of a row. */
  #keyOf(row: readonly unknown[], column: Column): unknown {
    const { writtenColumns } = this.#table
    const codec = this.#source.context.codecOf(this.#table)
    return keyInValues(column, writtenColumns, row, codec)
  }

  #position(column: Column): number {
    return this.#table.writtenColumns.indexOf(column)
  }
}

const noKeys: ReadonlySet<string> = new Set()

/** @returns each row's values in the order of the columns */
async function checkChunk(
  table: Table,
  { context }: Source,
  rows: readonly object[],
  before: number,
): Promise<unknown[][]> {
  const { create } = context.checksOf(table)
  const codec = context.codecOf(table)
  const { generated } = table.key
  const checked: unknown[][] = []
  for (const [index, row] of rows.entries()) {
    try {
      const checking = create(row)
      const record = checking instanceof Promise ? await checking : checking
      if (table.version !== undefined) record[table.version.property] = 1
      if (generated === 'uuid') setUuidKey(table, record)
      checkForeignKeys(table, codec, record)
      checked.push(codec.writeRow(record))
    } catch (error) {
      throw atRow(error, before + index)
    }
    if (index % batchSize === batchSize - 1) await setImmediate()
  }
  return checked
}
