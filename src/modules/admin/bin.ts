/** The bin of a record with `softDelete`: its deleted rows, and their restoration. */
import { HttpError, toClientRow } from '../../index.js'
import { rowsPerSlice, withRowKey } from './change-many.js'
import { checkAnyRight, notFound, yieldToEventLoop, type PageRecord } from './page-records.js'

const pageSize = 50

/** @throws {HttpError} 404 unless `delete` only marks rows of the record, 401 or 403 without the right to delete */
function checkBin({ records }: PageRecord): void {
  if (!records.isSoftDeleted)
    throw new HttpError(404, undefined, { reason: 'the record has no softDelete' })
}

/**
 * The deleted rows that the caller could see before, the latest first.
 *
 * @param after the `next` of the previous page
 */
export async function listBin(pageRecord: PageRecord, after: unknown): Promise<object> {
  checkBin(pageRecord)
  const { records } = pageRecord
  const rights = await records.rights()
  const cursor = typeof after === 'string' ? after : undefined
  const { rows, next } = await records.deleted({ limit: pageSize, after: cursor })
  const json = rows.map((row) => ({
    row: toClientRow(row, rights),
    deletedAt: (row as { readonly deletedAt?: unknown }).deletedAt,
  }))
  return next === undefined ? { rows: json } : { rows: json, next }
}

/**
 * Restores rows, all or none.
 *
 * @returns the number of restored rows
 * @throws {HttpError} 404 if one of them is not in the bin, 409 as `restore` of a repository
 */
export async function restoreMany(
  pageRecord: PageRecord,
  ids: readonly string[],
): Promise<{ readonly count: number }> {
  checkBin(pageRecord)
  const { records } = pageRecord
  checkAnyRight(await records.rights(), 'delete')
  for (const [index, id] of ids.entries()) {
    if (index % rowsPerSlice === 0) await yieldToEventLoop()
    const isRestored = await records.restore(id).catch((error: unknown) => {
      throw ids.length === 1 ? error : withRowKey(error, id)
    })
    if (!isRestored) throw notFound()
  }
  return { count: ids.length }
}
