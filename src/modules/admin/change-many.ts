/** Updates or deletes many rows. All of them succeed or fail together. */
import { HttpError } from '../../index.js'
import type { ChangeSummary } from './change-summary.js'
import {
  checkAnyRight,
  notFound,
  yieldToEventLoop,
  type PageRecord,
  type JsonRow,
} from './page-records.js'

/** Maximum number of rows in one request. */
export const maxRows = 5000

/** Other requests run after this many rows. */
export const rowsPerSlice = 20

export interface ChangeManyOptions {
  /** Collects what changes. */
  readonly summary?: ChangeSummary | undefined
  /** Skips rows that do not exist for the caller, instead of failing. */
  readonly skipsMissing: boolean
}

/**
 * @returns the number of updated rows
 * @throws {HttpError} 404 if a row does not exist for the caller. Other errors name the key of the row.
 */
export function updateMany(
  { records }: PageRecord,
  ids: readonly string[],
  values: JsonRow,
  options: ChangeManyOptions,
): Promise<number> {
  const update: RowOperation = {
    right: 'update',
    run: async (id) => (await records.update(id, { ...values })) ?? 'missing',
  }
  return changeMany(records, ids, update, options)
}

/**
 * @returns the number of deleted rows
 * @throws {HttpError} like `updateMany`
 */
export function deleteMany(
  { records }: PageRecord,
  ids: readonly string[],
  options: ChangeManyOptions,
): Promise<number> {
  const remove: RowOperation = {
    right: 'delete',
    run: async (id) => ((await records.delete(id)) ? null : 'missing'),
  }
  return changeMany(records, ids, remove, options)
}

interface RowOperation {
  readonly right: 'update' | 'delete'
  /** @returns the updated row, null after a deletion, or `missing` if the row does not exist for the caller */
  readonly run: (id: string) => Promise<object | 'missing' | null>
}

async function changeMany(
  records: PageRecord['records'],
  ids: readonly string[],
  { right, run }: RowOperation,
  { summary, skipsMissing }: ChangeManyOptions,
): Promise<number> {
  const rights = await records.rights()
  checkAnyRight(rights, right)
  // A caller who may not read the record gets a summary without fields.
  const rows = rights.may.read
    ? await findRows(records, ids, skipsMissing)
    : ids.map((id): FoundRow => ({ id, before: {} }))
  let count = 0
  for (const [index, { id, before }] of rows.entries()) {
    if (index % rowsPerSlice === 0) await yieldToEventLoop()
    try {
      const after = await run(id)
      if (after === 'missing') {
        if (skipsMissing) continue
        throw notFound()
      }
      summary?.add(before, after)
      count++
    } catch (error) {
      throw withRowKey(error, id)
    }
  }
  return count
}

interface FoundRow {
  readonly id: string
  readonly before: object
}

async function findRows(
  records: PageRecord['records'],
  ids: readonly string[],
  skipsMissing: boolean,
): Promise<FoundRow[]> {
  const rows: FoundRow[] = []
  for (const [index, id] of ids.entries()) {
    if (index % rowsPerSlice === 0) await yieldToEventLoop()
    const before = await records.find(id)
    if (before !== null) rows.push({ id, before })
    else if (!skipsMissing) throw notFound()
  }
  return rows
}

/** Adds the key of the row to the messages of a client's error. 404 and errors of the server are returned unchanged. */
export function withRowKey(error: unknown, id: string): unknown {
  if (!(error instanceof HttpError) || error.status === 404 || error.status >= 500) return error
  if (error.errors === undefined) return error.with({ message: `${id}: ${error.message}` })
  return error.mapFields(({ path, code, message }) => ({
    path: path === '' ? id : `${id}.${path}`,
    code,
    message: `${id}: ${message}`,
  }))
}
