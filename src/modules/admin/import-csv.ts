/** The responses of the page to an import of a CSV file, and to a check of one. */
import { HttpError, importRows, type ImportRowsOptions, type RowError } from '../../index.js'
import { historyHook } from './change-history.js'
import type { PageRecord } from './page-records.js'
import type { ShareReport } from './progress-lines.js'
import { labelsByName } from './schema.js'

interface FailedImport {
  readonly error: string
  readonly code: 'VALIDATION'
  readonly faults: readonly RowError[]
}

/**
 * Writes all rows in one transaction.
 *
 * @param report called after each batch; the import ends if it throws
 * @returns `{ count }`, or the errors of the file if nothing was written
 */
export async function importCsv(
  pageRecord: PageRecord,
  file: Buffer,
  report?: ShareReport,
): Promise<{ readonly count: number } | FailedImport> {
  try {
    const options = await optionsFor(pageRecord, file, report)
    const result = await importRows(pageRecord.records, file, options)
    return { count: result.rows }
  } catch (error) {
    if (!(error instanceof HttpError) || error.code !== 'VALIDATION') throw error
    const faults = (error.errors ?? []) as readonly RowError[]
    return { error: 'The file has errors. Nothing was written.', code: 'VALIDATION', faults }
  }
}

/**
 * Finds what an import would refuse.
 *
 * @returns the number of rows, the errors, the expected seconds of the import, and whether hooks run at the import only
 */
export async function checkCsv(
  pageRecord: PageRecord,
  file: Buffer,
  report?: ShareReport,
): Promise<object> {
  const start = performance.now()
  const options = await optionsFor(pageRecord, file, report)
  const result = await importRows(pageRecord.records, file, { ...options, check: true })
  const seconds = Math.ceil((performance.now() - start) / 1000)
  return { rows: result.rows, faults: result.errors, seconds, hooks: hasUncheckedHooks(pageRecord) }
}

/** Columns may be headed by the labels of the page. */
async function optionsFor(
  { records }: PageRecord,
  file: Buffer,
  report: ShareReport = () => undefined,
): Promise<ImportRowsOptions> {
  return {
    labels: Object.fromEntries(labelsByName(await records.rights())),
    onProgress: ({ rows, position }) => {
      report({ rows, share: position / file.length })
    },
  }
}

/** Whether hooks run at the import that a check leaves out. */
function hasUncheckedHooks({ records }: PageRecord): boolean {
  const { before, after } = records.writeHooks
  return before.length > 0 || after.some((name) => name !== historyHook)
}
