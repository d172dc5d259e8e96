/** Writes many rows in one transaction, in batches, letting others have a turn between them. */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { HttpError } from '../../errors/http-error.js'
import { toIds } from './delete-row.js'
import { EngineFault, type Runner } from '../engines/engine.js'
import { refuseUnknownOptions } from './refuse-options.js'
import type { Source } from './source.js'
import type { Table } from '../model/table.js'
import { toClientError, toUnavailable } from './write-faults.js'

export interface InsertManyOptions {
  /** Told after every batch of 1,000 rows and at the end. */
  onProgress?: (progress: InsertProgress) => void
}

export interface InsertProgress {
  readonly done: number
  /** Undefined where the rows' number is not known beforehand. */
  readonly total: number | undefined
}

const optionNames: ReadonlySet<string> = new Set(['onProgress'])

const batchSize = 1000
/** PostgreSQL counts placeholders with 16 bits. */
const mostValues = 65_535

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
    let done = 0
    for (const batch of inBatches(rows)) {
      const checked = await checkBatch(table, transaction, batch, done)
      try {
        await insertBatch(table, transaction, checked)
      } catch (error) {
        throw toClientError(error, table, 'write')
      }
      done += batch.length
      onProgress?.({ done, total })
      await setImmediate()
    }
    return done
  })
}

function* inBatches(rows: Iterable<object>): Generator<object[]> {
  let batch: object[] = []
  for (const row of rows) {
    if (batch.push(row) < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** @returns each row's values in the order of the columns */
async function checkBatch(
  table: Table,
  { context }: Source,
  batch: readonly object[],
  before: number,
): Promise<unknown[][]> {
  const { create } = context.checksOf(table, 'program')
  const { writeRow } = context.codecOf(table)
  const { property, generated } = table.key
  const checked: unknown[][] = []
  for (const [index, row] of batch.entries()) {
    try {
      const answer = create(row)
      const record = answer instanceof Promise ? await answer : answer
      if (generated === 'uuid') record[property] ??= randomUUID()
      checked.push(writeRow(record))
    } catch (error) {
      throw atRow(error, before + index)
    }
  }
  return checked
}

async function insertBatch(table: Table, source: Source, rows: unknown[][]): Promise<void> {
  const key = table.columns.indexOf(table.key)
  const without = rows.filter((values) => values[key] === null)
  for (const values of without) values.splice(key, 1)
  const given = rows.filter((values) => values.length === table.columns.length)
  const runner = source.runner()
  await insertAlike(table, source, runner, given)
  await insertAlike(table, source, runner, without)
}

/** Rows that all have a key, or all have none. */
async function insertAlike(
  table: Table,
  source: Source,
  runner: Runner,
  rows: readonly (readonly unknown[])[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const { context } = source
  const isFollowed = await source.feed.follows(table, runner)
  const plans = context.plansOf(table)
  const columns =
    first.length === table.columns.length
      ? table.columns
      : table.columns.filter((column) => column !== table.key)
  // One by one where a statement costs no journey.
  const { isLocal } = context.dialect
  const most = Math.max(1, Math.floor(mostValues / Math.max(1, columns.length)))
  const size = isLocal || columns.length === 0 ? 1 : Math.min(batchSize, most)
  for (let start = 0; start < rows.length; start += size) {
    const part = rows.slice(start, start + size)
    const { statement } = plans.insert(columns, part.length, isFollowed ? 'key' : 'nothing')
    const values = size === 1 ? (part[0] ?? []) : part.flat()
    if (isFollowed) {
      const ids = toIds(table, await runner.rows(statement, values))
      source.changed({ event: 'created', table, ids })
      continue
    }
    const changed = runner.change(statement, values)
    if (changed instanceof Promise) await changed
  }
  // Somebody may follow when it is committed, who then learns that there is more than can be named.
  if (!isFollowed) source.changed({ event: 'lost', table, ids: [] })
}

/** Says which row it was: `12.price must be a number`. */
function atRow(error: unknown, row: number): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const errors = error.errors.map(({ path, code, message }) => ({
    path: path === '' ? String(row) : `${row}.${path}`,
    code,
    message: `${row}.${message}`,
  }))
  const sentence = errors.map(({ message }) => message).join('; ')
  return new HttpError(error.status, sentence, { code: error.code, errors, cause: error })
}
