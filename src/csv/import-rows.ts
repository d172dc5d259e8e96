/** Imports a CSV file into a record, or checks what an import would refuse: `importRows`. Source: docs/csv.md. */
import { setImmediate } from 'node:timers/promises'
import type { FieldError } from '../errors/field-error.js'
import { nameMissingKeys } from '../errors/field-errors.js'
import { HttpError } from '../errors/http-error.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { forbidden } from '../records/rights/caller.js'
import { conflictRetry } from '../records/statements/client-errors.js'
import { transactionOptions } from '../records/statements/transaction-options.js'
import type { Cell } from './cell-text.js'
import { syntaxErrorsOf, type RowError } from './csv-error.js'
import { toCsvRecords, type CsvRecords, type ImportableRecords } from './csv-records.js'
import {
  readColumns,
  withWritableFields,
  type Headings,
  type ImportColumn,
} from './import-columns.js'
import { writeRow, type ImportTarget } from './import-row.js'
import { checkingWriter, storingWriter, type ImportWriter } from './import-writers.js'
import { readLines, type CsvLine } from './rows.js'
import { UniqueValues } from './unique-values.js'
import { canReadAgain, checkSource, toUtf8, type CsvSource } from './utf8.js'

/** How far an import or a check is. */
export interface ImportProgress {
  /** Rows so far. */
  readonly rows: number
  /** Bytes of the file so far; characters of a text. */
  readonly position: number
}

const importRowsOptions = declareOptions({
  /** Finds errors by reads alone: nothing is written, no lock is taken, and no hook runs. Default false. */
  check: option.flag(),
  /** The names of the columns that the file may have. Default: all that the caller may read or write. */
  columns: option.of<readonly string[]>(Array.isArray, "Write ['name', 'price']."),
  /** Other headings of columns, by the name of the column, without regard to case: `{ dueOn: 'Due' }`. */
  labels: option.of<Readonly<Record<string, string>>>(
    (value) => typeof value === 'object' && value !== null,
    "Write { dueOn: 'Due' }.",
  ),
  /** A file with more rows is refused. Empty lines count. Default 100,000. */
  maxRows: option.integer(1),
  /** Reading ends after this many errors. Default 50. */
  maxErrors: option.integer(1),
  /** Milliseconds for the transaction of the import. Default an hour. A request has its own `timeout`. */
  timeout: transactionOptions.all.timeout,
  /** Called after each 50 rows or fewer. If it throws, the import ends, and nothing is written. */
  onProgress: option.any<(progress: ImportProgress) => void>(),
})

export interface ImportRowsOptions extends OptionsOf<typeof importRowsOptions> {}

export interface ImportResult {
  /** Number of rows read, without the names of the columns. */
  readonly rows: number
  /** Empty after an import, which throws them. */
  readonly errors: readonly RowError[]
}

const defaultMaxRows = 100_000
const defaultMaxErrors = 50
const defaultTimeout = 3_600_000

/** Thrown to roll back the rows of a file that has errors. */
class ImportFailed extends Error {
  constructor(readonly result: ImportResult) {
    super('the file has errors')
  }
}

/**
 * Imports a CSV file. The first row names the columns. A row with a key changes the row with this key, any other row is new. All rows
 * are written in one transaction, or none. The file is read as it arrives, and is never in memory as a whole.
 *
 * ```ts
 * await importRows(recordsAs(database, Ticket, request), file)                    // { rows: 12, errors: [] }, or 400
 * await importRows(recordsAs(database, Ticket, request), file, { check: true })   // { rows: 12, errors: [{ row: 3, path: 'price', … }] }
 * ```
 *
 * @param records of a caller, with its rights, or of the program, to which no rights apply
 * @param source an uploaded file, a stream, a text or bytes. After a conflict with other transactions, a stream cannot be read again
 * @throws {HttpError} 400 `VALIDATION`: `errors` has each error with its `row` and its column as `path`. The client sent the file, so
 *   the errors are the client's. 401 or 403 for what the caller may not write; 409 `CONFLICT_RETRY`
 */
export async function importRows(
  records: ImportableRecords,
  source: CsvSource,
  options: ImportRowsOptions = {},
): Promise<ImportResult> {
  const csvRecords = toCsvRecords('importRows', records)
  checkSource('importRows', source)
  importRowsOptions.check('importRows', options)
  const result =
    options.check === true
      ? await readFile(csvRecords, source, checkingWriter(csvRecords), options)
      : await writeFile(csvRecords, source, options)
  if (options.check === true || result.errors.length === 0) return result
  throw toHttpError(result.errors)
}

/** Writes the rows in a transaction, which is rolled back if there are errors. */
async function writeFile(
  records: CsvRecords,
  source: CsvSource,
  options: ImportRowsOptions,
): Promise<ImportResult> {
  let isRead = false
  const write = async (): Promise<ImportResult> => {
    // The stream was partly read, so the rest would be stored as if it were complete.
    if (isRead && !canReadAgain(source)) throw conflictRetry()
    isRead = true
    const result = await readFile(records, source, storingWriter(records), options)
    if (result.errors.length > 0) throw new ImportFailed(result)
    return result
  }
  try {
    return await records.transaction(write, options.timeout ?? defaultTimeout)
  } catch (error) {
    if (error instanceof ImportFailed) return error.result
    throw error
  }
}

function toHttpError(errors: readonly RowError[]): HttpError {
  const [first] = errors
  const where = first === undefined ? '' : ` Row ${first.row}: ${first.message}`
  const message = `The file has errors. Nothing was written.${where}`
  return new HttpError(400, message, { code: 'VALIDATION', errors })
}

/** Passes all rows of a file to the writer. */
async function readFile(
  records: CsvRecords,
  source: CsvSource,
  writer: ImportWriter,
  options: ImportRowsOptions,
): Promise<ImportResult> {
  const { maxRows = defaultMaxRows, maxErrors = defaultMaxErrors, onProgress } = options
  const rights = withWritableFields(await records.rights(), records.described)
  if (!rights.may.create && !rights.may.update)
    throw forbidden('the caller may not create or update')
  const progress = { position: 0 }
  const lines = readLines(toUtf8(source, progress), maxRows)
  const errors: RowError[] = []
  let rows = 0
  try {
    const { columns, errors: headingErrors } = await readHeadings(records, rights, options, lines)
    if (headingErrors.length > 0) return { rows, errors: headingErrors.slice(0, maxErrors) }
    const target = { records, rights, columns }
    const importing = { target, writer, unique: new UniqueValues(rights) }
    while (errors.length < maxErrors) {
      const batch = await takeBatch(lines)
      const last = batch.at(-1)
      if (last === undefined) break
      // Let other requests run between two batches.
      await setImmediate()
      const written = await writeBatch(importing, batch, maxErrors - errors.length)
      rows += written.rows
      errors.push(...written.errors)
      onProgress?.({ rows, position: Math.round(progress.position * last.share) })
    }
  } catch (error) {
    const syntaxErrors = syntaxErrorsOf(error)
    if (syntaxErrors === undefined) throw error
    errors.push(...syntaxErrors)
  } finally {
    await lines.return()
  }
  return { rows, errors: errors.slice(0, maxErrors) }
}

async function readHeadings(
  { described }: CsvRecords,
  rights: ImportTarget['rights'],
  { columns, labels = {} }: ImportRowsOptions,
  lines: AsyncGenerator<CsvLine, void>,
): Promise<ReturnType<typeof readColumns>> {
  const first = await lines.next()
  if (first.done === true) return { columns: [], errors: [emptyFile] }
  const headings: Headings = { columns, labels }
  return readColumns(described, rights, headings, first.value.cells)
}

const emptyFile: RowError = { row: 1, path: '', code: 'emptyFile', message: 'The file is empty.' }

/** Maximum rows of a batch. Other requests run between two batches. */
const maxBatchRows = 50
/** A batch ends after this many characters. Splitting them takes a few milliseconds. */
const maxBatchCharacters = 262_144

/** The rows of the next batch, as many as fit into one slice of the event loop. */
async function takeBatch(lines: AsyncGenerator<CsvLine, void>): Promise<CsvLine[]> {
  const batch: CsvLine[] = []
  let characters = 0
  while (batch.length < maxBatchRows && characters < maxBatchCharacters) {
    const next = await lines.next()
    if (next.done === true) break
    batch.push(next.value)
    for (const { text } of next.value.cells) characters += text.length
  }
  return batch
}

interface Importing {
  readonly target: ImportTarget
  readonly writer: ImportWriter
  readonly unique: UniqueValues
}

/** Rows of one slice of the event loop. A row may link a thousand rows. */
const rowsOfSlice = 20

/** @param errorLimit ends the batch after this many errors */
async function writeBatch(
  importing: Importing,
  batch: readonly CsvLine[],
  errorLimit: number,
): Promise<ImportResult> {
  const { concurrency } = importing.writer
  const errors: RowError[] = []
  let rows = 0
  while (rows < batch.length && errors.length < errorLimit) {
    if (rows > 0 && rows % rowsOfSlice === 0) await setImmediate()
    const together = batch.slice(rows, rows + concurrency)
    errors.push(...(await writeTogether(importing, together)))
    rows += together.length
  }
  return { rows, errors }
}

/** Writes rows at the same time. Each row is compared with the earlier ones of the file. */
async function writeTogether(
  { target, writer, unique }: Importing,
  lines: readonly CsvLine[],
): Promise<RowError[]> {
  let earlier: Promise<unknown> = Promise.resolve()
  const writes = lines.map(({ row, cells }) => {
    const before = earlier
    const writing = writer.row(row, async (rowWriter) => {
      const written = await writeRow(target, rowWriter, cells)
      await before
      unique.add(written)
    })
    earlier = writing.catch(() => undefined)
    return writing
  })
  const outcomes = await Promise.allSettled(writes)
  return outcomes.flatMap((outcome, index) =>
    outcome.status === 'fulfilled'
      ? []
      : toRowErrors(outcome.reason, target, lines[index] as CsvLine),
  )
}

/** @throws {HttpError} 403 for a file that contains what the caller may not write, as at every other interface */
function toRowErrors(
  error: unknown,
  { columns }: ImportTarget,
  { row, cells }: CsvLine,
): RowError[] {
  if (!(error instanceof HttpError) || error.status >= 500) throw error
  const named = nameMissingKeys(error, (path, key) => hasKey(cells, columns, path, key))
  const { errors = [], message, code } = (named as HttpError).forClient()
  if (error.status === 403 && errors.some((one) => one.code === 'forbidden'))
    throw error.with({ message: `Row ${row}: ${message}` })
  if (errors.length === 0) return [{ row, path: '', code, message }]
  return errors.map((fieldError) => ({ row, ...atColumn(fieldError, columns) }))
}

/** Without the marks of a value of the program: the value came from the file. Errors of links are at the column of the keys. */
function atColumn(
  { path, code, message }: FieldError,
  columns: readonly ImportColumn[],
): Omit<RowError, 'row'> {
  const links = columns.find((column) => column.use === 'links' && column.relation === path)
  if (links === undefined) return { path, code, message }
  const isNamed = message.startsWith(`${path} `)
  return {
    path: links.name,
    code,
    message: isNamed ? links.name + message.slice(path.length) : message,
  }
}

/** Whether the file names the key. A hook may have set another one, which no client must learn. */
function hasKey(
  cells: readonly Cell[],
  columns: readonly ImportColumn[],
  path: string,
  key: string,
): boolean {
  const index = columns.findIndex(
    (column) => column.name === path || (column.use === 'links' && column.relation === path),
  )
  const keys = cells[index]?.text.toLowerCase().split(/[;,\s]+/)
  return keys?.includes(key.toLowerCase()) === true
}
