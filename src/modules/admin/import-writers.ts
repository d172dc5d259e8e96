/** The ways in which the rows of an import are written, or only checked. */
import type { Database } from '../../index.js'
import { historyHook } from './change-history.js'
import type { PageRecord } from './page-records.js'

export interface ImportWriter {
  readonly records: Pick<PageRecord['records'], 'create' | 'update'>
  /** Runs the writes of one row, so that it can fail without the others. */
  row<R>(work: () => Promise<R>): Promise<R>
}

/** Writes the rows in the caller's transaction. */
export function storingWriter({ records }: PageRecord, database: Database): ImportWriter {
  return { records, row: (work) => database.transaction(work) }
}

/**
 * Finds by reads alone what an import would refuse. It holds no lock, takes no keys of a sequence, and runs no hooks. If hooks
 * may change the rows, their unique values are left out.
 */
export function checkingWriter({ records, described }: PageRecord): ImportWriter {
  const changedKeys = new Set<string>()
  const keyName = described.key.name
  const mayChange = records.writeHooks.before.length > 0
  let created = 0
  return {
    row: (work) => work(),
    records: {
      async create(values) {
        const row = await records.checkCreate(values, changedKeys)
        return { ...(mayChange ? {} : row), [keyName]: `new ${++created}` }
      },
      async update(id, values, expected) {
        const row = await records.checkUpdate(id, values, expected, changedKeys)
        if (row === null) return null
        changedKeys.add(String(row[keyName]).toLowerCase())
        return mayChange ? { [keyName]: row[keyName] } : row
      },
    },
  }
}

/** Whether hooks run at the import that a check leaves out. */
export function hasUncheckedHooks({ records }: PageRecord): boolean {
  const { before, after } = records.writeHooks
  return before.length > 0 || after.some((name) => name !== historyHook)
}
