/** The ways in which the rows of an import are written, or only checked. */
import type { Database } from '../../index.js'
import { historyHook } from './change-history.js'
import type { PageRecord } from './page-records.js'
import { runAndRollBack } from './roll-back.js'

export interface RowWriter {
  readonly records: Pick<PageRecord['records'], 'create' | 'update'>
  /** Runs the writes of up to 50 rows. */
  batch(work: () => Promise<void>): Promise<void>
  /** Runs the writes of one row, so that it can fail without the others. */
  row<R>(work: () => Promise<R>): Promise<R>
}

/** Writes the rows in the caller's transaction. */
export function storingWriter({ records }: PageRecord, database: Database): RowWriter {
  return { records, batch: (work) => work(), row: (work) => database.transaction(work) }
}

/** Finds what an import would refuse, and stores nothing. */
export async function checkingWriter(
  pageRecord: PageRecord,
  database: Database,
): Promise<RowWriter> {
  const canRead = await pageRecord.records.canCheck([historyHook])
  return canRead ? readingWriter(pageRecord) : rollingBackWriter(pageRecord, database)
}

/** Checks rows by reads alone. It holds no lock, and takes no keys of a sequence. */
function readingWriter({ records, described }: PageRecord): RowWriter {
  const changedKeys = new Set<string>()
  const keyName = described.key.name
  let created = 0
  return {
    batch: (work) => work(),
    row: (work) => work(),
    records: {
      async create(values) {
        const row = await records.checkCreate(values, changedKeys)
        return { ...row, [keyName]: `new ${++created}` }
      },
      async update(id, values, expected) {
        const row = await records.checkUpdate(id, values, expected, changedKeys)
        if (row !== null) changedKeys.add(String(row[keyName]).toLowerCase())
        return row
      },
    },
  }
}

/**
 * Writes rows in small transactions and rolls each one back, because hooks and `rows` may refuse what is written. Other writers
 * wait for one batch at most.
 */
function rollingBackWriter({ records }: PageRecord, database: Database): RowWriter {
  return {
    records,
    batch: (work) => runAndRollBack(database, work),
    row: (work) => database.transaction(work),
  }
}
