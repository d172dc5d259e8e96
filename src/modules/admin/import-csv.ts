/** Imports a CSV file into a record, with the caller's rights, or checks what an import would refuse. */
import { HttpError, type Database, type RecordRights } from '../../index.js'
import { toUtf8 } from './csv-encoding.js'
import { CsvError, readLines, type CsvLine } from './csv-format.js'
import { readColumns, withWritableFields, type ImportColumn } from './import-columns.js'
import { writeRow } from './import-row.js'
import { checkAnyRight, yieldToEventLoop, type PageRecord } from './page-records.js'
import type { ImportProgress } from './progress-lines.js'
import {
  checkingWriter,
  hasUncheckedHooks,
  storingWriter,
  type ImportWriter,
} from './import-writers.js'
import { UniqueValues } from './unique-values.js'

export interface ImportError {
  /** The row in the file. The header is row 1. */
  readonly row: number
  /** The column, or empty if the error concerns the complete row. */
  readonly path: string
  readonly message: string
}

interface ImportResult {
  /** Number of rows read. */
  readonly rows: number
  readonly errors: readonly ImportError[]
}

interface FailedImport {
  readonly error: string
  readonly code: 'VALIDATION'
  readonly faults: readonly ImportError[]
}

type ProgressReport = (progress: ImportProgress) => void

/** The import stops after this many errors. */
const maxErrors = 50
/** Milliseconds for the transaction of an import, whose progress may be sent for longer than a request may take. */
const importTimeout = 3_600_000

/** Thrown to roll back the rows of a file that has errors. */
class ImportFailed extends Error {
  constructor(readonly result: ImportResult) {
    super('the file has errors')
  }
}

/**
 * Writes all rows in one transaction.
 *
 * @param report called after each batch; the import ends if it throws
 * @returns `{ count }`, or the errors of the file if nothing was written
 */
export async function importCsv(
  database: Database,
  pageRecord: PageRecord,
  file: Buffer,
  report?: ProgressReport,
): Promise<{ readonly count: number } | FailedImport> {
  const write = async (): Promise<ImportResult> => {
    const result = await readFile(pageRecord, file, storingWriter(pageRecord, database), report)
    if (result.errors.length > 0) throw new ImportFailed(result)
    return result
  }
  const importing = database.transaction(write, { timeout: importTimeout })
  const { rows, errors } = await importing.catch((error: unknown) => {
    if (error instanceof ImportFailed) return error.result
    throw error
  })
  if (errors.length === 0) return { count: rows }
  const error = 'The file has errors. Nothing was written.'
  return { error, code: 'VALIDATION', faults: errors }
}

/**
 * Finds what an import would refuse.
 *
 * @returns the number of rows, the errors, the expected seconds of the import, and whether hooks run at the import only
 */
export async function checkCsv(
  pageRecord: PageRecord,
  file: Buffer,
  report?: ProgressReport,
): Promise<object> {
  const start = performance.now()
  const { rows, errors } = await readFile(pageRecord, file, checkingWriter(pageRecord), report)
  const seconds = Math.ceil((performance.now() - start) / 1000)
  return { rows, faults: errors, seconds, hooks: hasUncheckedHooks(pageRecord) }
}

/** Passes all rows of a file to the writer. A row with a key is updated, one without is created. */
async function readFile(
  pageRecord: PageRecord,
  file: Buffer,
  writer: ImportWriter,
  report: ProgressReport = () => undefined,
): Promise<ImportResult> {
  const rights = withWritableFields(await pageRecord.records.rights(), pageRecord)
  checkAnyRight(rights, 'create', 'update')
  const errors: ImportError[] = []
  let rows = 0
  try {
    const text = await toUtf8(file)
    const lines = readLines(text)
    const names = lines.next()
    if (names.done === true) return { rows, errors: [emptyFile] }
    const header = readColumns(pageRecord, rights, names.value.cells)
    if (header.errors.length > 0)
      return {
        rows,
        errors: header.errors.slice(0, maxErrors).map((error) => ({ row: 1, ...error })),
      }
    const { columns } = header
    const target = { pageRecord, rights, writer, columns, unique: new UniqueValues(rights) }
    while (errors.length < maxErrors) {
      const batch = takeBatch(lines)
      if (batch.length === 0) break
      // Let other requests run between two batches.
      await yieldToEventLoop()
      const written = await writeBatch(target, batch, maxErrors - errors.length)
      rows += written.rows
      errors.push(...written.errors)
      report({ rows, share: (batch.at(-1)?.end ?? 0) / text.length })
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    errors.push({ row: error.row, path: '', message: `This row ${error.message}.` })
  }
  return { rows, errors: errors.slice(0, maxErrors) }
}

const emptyFile: ImportError = { row: 1, path: '', message: 'The file is empty.' }

/** Maximum rows of a batch. Other requests run between two batches. */
const maxBatchRows = 50
/** A batch ends after this many characters. Splitting them takes a few milliseconds. */
const maxBatchCharacters = 262_144

/** The rows of the next batch, as many as fit into one slice of the event loop. */
function takeBatch(lines: Generator<CsvLine, void>): CsvLine[] {
  const batch: CsvLine[] = []
  let characters = 0
  while (batch.length < maxBatchRows && characters < maxBatchCharacters) {
    const next = lines.next()
    if (next.done === true) break
    batch.push(next.value)
    for (const { text } of next.value.cells) characters += text.length
  }
  return batch
}

/** What the rows of a file are written to. */
interface ImportTarget {
  readonly pageRecord: PageRecord
  readonly rights: RecordRights
  readonly writer: ImportWriter
  readonly columns: readonly ImportColumn[]
  readonly unique: UniqueValues
}

/** @param errorLimit ends the batch after this many errors */
async function writeBatch(
  { pageRecord, rights, writer, columns, unique }: ImportTarget,
  batch: readonly CsvLine[],
  errorLimit: number,
): Promise<ImportResult> {
  const errors: ImportError[] = []
  let rows = 0
  for (const { row, cells } of batch) {
    rows++
    // A row may link a thousand rows.
    if (rows % 20 === 0) await yieldToEventLoop()
    await writer
      .row(async () => {
        unique.add(await writeRow(pageRecord, rights, writer.records, { cells, columns }))
      })
      .catch((error: unknown) => errors.push(...toImportErrors(error, row)))
    if (errors.length >= errorLimit) break
  }
  return { rows, errors }
}

/** @throws {HttpError} 403 for a file that contains what the caller may not write, as at every other interface */
function toImportErrors(error: unknown, row: number): ImportError[] {
  if (!(error instanceof HttpError) || error.status >= 500) throw error
  const { errors = [], message } = error.forClient()
  if (error.status === 403 && errors.some(({ code }) => code === 'forbidden'))
    throw error.with({ message: `Row ${row}: ${message}` })
  if (errors.length === 0) return [{ row, path: '', message }]
  return errors.map((fieldError) => ({ row, path: fieldError.path, message: fieldError.message }))
}
