/** Changes or deletes many rows. All of them succeed or fail together. */
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

/** Options of a change of many rows. */
export interface ManyOptions {
  /** Collects what changes. */
  readonly summary?: ChangeSummary | undefined
  /** Skips rows that do not exist for the caller, instead of failing. */
  readonly skipsMissing: boolean
}

/**
 * @param values undefined to delete the rows
 * @returns the number of changed rows
 * @throws {HttpError} 404 if a row does not exist for the caller. Other errors name the key of the row.
 */
export async function changeMany(
  { records }: PageRecord,
  ids: readonly string[],
  values: JsonRow | undefined,
  { summary, skipsMissing }: ManyOptions,
): Promise<number> {
  const rights = await records.rights()
  checkAnyRight(rights, values === undefined ? 'delete' : 'update')
  const rows = rights.may.read
    ? await findRows(records, ids, skipsMissing)
    : ids.map((id): FoundRow => [id, {}])
  let count = 0
  for (const [index, [id, before]] of rows.entries()) {
    if (index % rowsPerSlice === 0) await yieldToEventLoop()
    try {
      const after = values === undefined ? null : await records.update(id, { ...values })
      const isMissing = values === undefined ? !(await records.delete(id)) : after === null
      if (isMissing && skipsMissing) continue
      if (isMissing) throw notFound()
      summary?.add(before, after)
      count++
    } catch (error) {
      throw withRowKey(error, id)
    }
  }
  return count
}

type FoundRow = readonly [id: string, row: object]

async function findRows(
  records: PageRecord['records'],
  ids: readonly string[],
  skipsMissing: boolean,
): Promise<FoundRow[]> {
  const rows: FoundRow[] = []
  for (const id of ids) {
    const row = await records.find(id)
    if (row !== null) rows.push([id, row])
    else if (!skipsMissing) throw notFound()
    if (rows.length % rowsPerSlice === 0) await yieldToEventLoop()
  }
  return rows
}

/** Adds the key of the row to an error. */
export function withRowKey(error: unknown, id: string): unknown {
  if (!(error instanceof HttpError) || error.status === 404 || error.status >= 500) return error
  if (error.errors === undefined) return error.with({ message: `${id}: ${error.message}` })
  return error.mapFields(({ path, code, message }) => ({
    path: path === '' ? id : `${id}.${path}`,
    code,
    message: `${id}: ${message}`,
  }))
}
