/** Imports a CSV file into a record, with the caller's rights. */
import { isUtf8 } from 'node:buffer'
import {
  clip,
  HttpError,
  parseJson,
  type FieldDescription,
  type FieldError,
  type RecordDescription,
  type RecordRights,
} from '../../index.js'
import {
  CsvError,
  readCell,
  readLines,
  readNumber,
  writeCell,
  type Cell,
  type Line,
} from './csv-format.js'
import { linkedKeys, linkColumnsOf, readKeys, toCellValue, type LinkColumn } from './export-csv.js'
import { yieldToEventLoop, toJson, requireAny, type Row, type PageRecord } from './page-records.js'
import type { Progress } from './progress-lines.js'
import { labelsByName } from './schema.js'

/** The import stops after this many errors. */
const maxErrors = 50

export interface RowError {
  /** The row in the file. The header is row 1. */
  readonly row: number
  /** The column, or empty if the error concerns the complete row. */
  readonly path: string
  readonly message: string
}

export interface ImportResult {
  /** Number of rows read. */
  readonly rows: number
  readonly errors: readonly RowError[]
}

/** Writes or checks the rows of an import. */
export interface RowWriter {
  readonly records: Pick<PageRecord['records'], 'create' | 'update'>
  /** Runs the writes of up to 50 rows. */
  batch(work: () => Promise<void>): Promise<void>
  /** Runs the writes of one row, so that it can fail without the others. */
  row<R>(work: () => Promise<R>): Promise<R>
}

/** Checks rows by reads alone. It holds no lock, and takes no keys of a sequence. */
export function rowChecker({ records, described }: PageRecord): RowWriter {
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

/** Maximum rows of a batch. A check holds its locks until the batch is rolled back, after about 20 ms. */
const maxBatchRows = 50

/**
 * Writes all rows of a file. A row with a key is updated, one without is created. The caller rolls back if there are errors.
 *
 * @param report called after each batch; the import ends if it throws
 */
export async function importCsv(
  pageRecord: PageRecord,
  file: Buffer,
  writer: RowWriter,
  report: (progress: Progress) => void = () => undefined,
): Promise<ImportResult> {
  const errors: RowError[] = []
  let rows = 0
  const rights = withWritableFields(await pageRecord.records.rights(), pageRecord)
  requireAny(rights, 'create', 'update')
  const unique = new UniqueValues(rights)
  try {
    const text = await toUtf8(file)
    const lines = readLines(text)
    const names = lines.next()
    if (names.done === true) return { rows, errors: [emptyFile] }
    const columns = readColumns(pageRecord, rights, names.value.cells, errors)
    while (errors.length === 0 || (rows > 0 && errors.length < maxErrors)) {
      const batch = takeBatch(lines)
      if (batch.length === 0) break
      // Let other requests run between two batches.
      await yieldToEventLoop()
      const before = { rows, errors: errors.length }
      await writer.batch(async () => {
        // After a conflict, the batch runs again from its first row.
        rows = before.rows
        errors.length = before.errors
        unique.beginBatch()
        for (const { row, cells } of batch) {
          rows++
          // A row may link a thousand rows.
          if (rows % 20 === 0) await yieldToEventLoop()
          await writer
            .row(async () => {
              unique.add(await writeRow(pageRecord, rights, writer, { cells, columns }))
            })
            .catch((error: unknown) => errors.push(...toRowErrors(error, row)))
          if (errors.length >= maxErrors) break
        }
      })
      unique.commitBatch()
      report({ rows, share: (batch.at(-1)?.end ?? 0) / text.length })
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    errors.push({ row: error.row, path: '', message: `This row ${error.message}.` })
  }
  return { rows, errors: errors.slice(0, maxErrors) }
}

/**
 * A caller who may not read the record may write its fields. Secured fields are left out, because their names are not
 * shown either.
 */
function withWritableFields(rights: RecordRights, { described }: PageRecord): RecordRights {
  if (rights.may.read) return rights
  const { key, version, secured } = described
  const fields = described.fields.filter(
    ({ name, writable }) =>
      (writable || name === key.name || name === version) && !secured.includes(name),
  )
  return { ...rights, fields }
}

const emptyFile: RowError = { row: 1, path: '', message: 'The file is empty.' }

/** The rows of the next batch, as many as fit into one slice of the event loop. */
function takeBatch(lines: Generator<Line, void>): Line[] {
  const batch: Line[] = []
  let characters = 0
  while (batch.length < maxBatchRows && characters < maxBatchCharacters) {
    const next = lines.next()
    if (next.done === true) break
    batch.push(next.value)
    for (const { text } of next.value.cells) characters += text.length
  }
  return batch
}

/** A batch ends after this many characters. Splitting them takes a few milliseconds. */
const maxBatchCharacters = 262_144

/**
 * Finds duplicate values of unique fields in a file. A check rolls each batch back, so the database cannot find equal values in
 * different batches.
 */
class UniqueValues {
  readonly #groups: readonly (readonly string[])[]
  readonly #key: string
  readonly #committed = new Map<string, unknown>()
  /** Values of the current batch. */
  readonly #pending = new Map<string, unknown>()

  constructor({ fields, key }: RecordRights) {
    const groups = new Map<string, string[]>()
    for (const { name, rules } of fields) {
      const { unique } = rules
      if (unique === undefined || unique === false) continue
      const group = unique === true ? `field ${name}` : `group ${unique}`
      groups.set(group, [...(groups.get(group) ?? []), name])
    }
    this.#groups = [...groups.values()]
    this.#key = key.name
  }

  beginBatch(): void {
    this.#pending.clear()
  }

  commitBatch(): void {
    for (const [value, id] of this.#pending) this.#committed.set(value, id)
  }

  /** @throws {HttpError} 409 if another row of the file has the same value */
  add(stored: Row): void {
    const id = stored[this.#key]
    for (const names of this.#groups) {
      const values = names.map((name) => stored[name])
      // Rows without a value are not duplicates.
      if (values.some((value) => value === null || value === undefined)) continue
      const valuesKey = JSON.stringify([names, values])
      const first = this.#pending.get(valuesKey) ?? this.#committed.get(valuesKey)
      if (first !== undefined && first !== id) throw duplicateError(names)
      this.#pending.set(valuesKey, id)
    }
  }
}

function duplicateError(names: readonly string[]): HttpError {
  const verb = names.length === 1 ? 'is' : 'together are'
  const message = `${names.join(' and ')} ${verb} already taken by another row of the file`
  const errors = names.map((path) => ({ path, code: 'unique', message }))
  return new HttpError(409, message, { code: 'CONFLICT', errors })
}

interface FieldColumn extends FieldDescription {
  /** `fixed`: no client may write the field. `forbidden`: other callers may write it. */
  readonly use: 'key' | 'version' | 'value' | 'fixed' | 'forbidden'
}

type Column = FieldColumn | LinkColumn

/** Checks that a file is UTF-8. Converts UTF-16 with a byte order mark. @throws {CsvError} */
async function toUtf8(file: Buffer): Promise<Buffer> {
  if (file[0] === 0xff && file[1] === 0xfe) return await fromUtf16(file)
  if (!isUtf8(file)) throw notUtf8()
  return file
}

/** Converts in small parts, so that other requests run between them. */
async function fromUtf16(file: Buffer): Promise<Buffer> {
  const decoder = new TextDecoder('utf-16le', { fatal: true })
  // Two bytes of UTF-16 become at most three.
  const bytes = Buffer.allocUnsafeSlow(Math.ceil(file.length / 2) * 3)
  let length = 0
  for (let start = 0; start < file.length; start += partBytes) {
    const part = file.subarray(start, start + partBytes)
    try {
      const text = decoder.decode(part, { stream: start + partBytes < file.length })
      length += bytes.write(text, length)
    } catch {
      throw notUtf8()
    }
    await yieldToEventLoop()
  }
  return bytes.subarray(0, length)
}

const partBytes = 262_144

function notUtf8(): CsvError {
  return new CsvError(1, 'is not UTF-8: save the file as CSV UTF-8')
}

function readColumns(
  { described }: PageRecord,
  rights: RecordRights,
  cells: readonly Cell[],
  errors: RowError[],
): Column[] {
  const { fields } = rights
  const writableNames = new Set(
    described.fields.filter(({ writable }) => writable).map(({ name }) => name),
  )
  const columnsByName = new Map(
    [...fields, ...linkColumnsOf(rights)].map((column): [string, FieldDescription | LinkColumn] => [
      column.name,
      column,
    ]),
  )
  const namesByLabel = toNamesByLabel(rights)
  const usedNames = new Set<string>()
  const columns: Column[] = []
  for (const { text } of cells) {
    const heading = text.trim()
    const name = columnsByName.has(heading)
      ? heading
      : (namesByLabel.get(heading.toLowerCase()) ?? heading)
    const field = columnsByName.get(name)
    if (field === undefined || usedNames.has(name)) {
      const message = usedNames.has(name)
        ? `The column "${clip(name)}" occurs twice.`
        : `There is no field "${clip(name)}". Fields: ${[...columnsByName.keys()].join(', ')}.`
      errors.push({ row: 1, path: clip(name), message })
      continue
    }
    usedNames.add(name)
    if ('use' in field) {
      columns.push(field)
      continue
    }
    columns.push({ ...field, use: useOf(field, rights, writableNames) })
  }
  return columns
}

/** @param writableNames the fields that some callers may write */
function useOf(
  { name, writable }: FieldDescription,
  { key, version }: RecordRights,
  writableNames: ReadonlySet<string>,
): FieldColumn['use'] {
  if (name === key.name) return 'key'
  if (name === version) return 'version'
  if (writable) return 'value'
  return writableNames.has(name) ? 'forbidden' : 'fixed'
}

/** Columns may be headed by the labels of the page. A label of several fields names none. */
function toNamesByLabel(rights: RecordRights): Map<string, string> {
  const names = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const [name, label] of labelsByName(rights)) {
    const key = label.toLowerCase()
    if (names.has(key)) ambiguous.add(key)
    names.set(key, name)
  }
  for (const key of ambiguous) names.delete(key)
  return names
}

/** The parsed cells of a row. */
interface ParsedRow {
  readonly values: Row
  /** Cells that the caller cannot change. They must equal the stored values. */
  readonly fixed: readonly FixedCell[]
  readonly links: readonly (readonly [column: LinkColumn, keys: (string | number)[]])[]
  /** Errors of cells that cannot be parsed. */
  readonly errors: readonly FieldError[]
}

type FixedCell = readonly [column: FieldColumn, text: string]

function parseRow(cells: readonly Cell[], columns: readonly Column[], isNew: boolean): ParsedRow {
  const values: Row = {}
  const errors: FieldError[] = []
  const fixed: FixedCell[] = []
  const links: [column: LinkColumn, keys: (string | number)[]][] = []
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? { text: '', quoted: false }
    if (column.use === 'fixed' || column.use === 'forbidden') fixed.push([column, cell.text])
    if (column.use === 'links') {
      const keys = readKeys(column, cell)
      if (keys === undefined) errors.push(cellError(column, 'must be keys: 3;17'))
      else links.push([column, keys])
    }
    if (column.use !== 'value') continue
    const value = parseValue(column, cell, isNew)
    if (value === unreadable)
      errors.push(
        cellError(column, `must be ${/^[aeio]/.test(column.kind) ? 'an' : 'a'} ${column.kind}`),
      )
    else if (value !== undefined) values[column.name] = value
  }
  return { values, fixed, links, errors }
}

async function writeRow(
  { records, described }: PageRecord,
  rights: RecordRights,
  writer: RowWriter,
  { cells, columns }: { readonly cells: readonly Cell[]; readonly columns: readonly Column[] },
): Promise<Row> {
  if (cells.length > columns.length)
    throw new HttpError(400, `The row has ${cells.length} cells, the first one ${columns.length}.`)
  const { id, version } = readIdentity(cells, columns)
  const operation = id === undefined ? 'create' : 'update'
  if (!rights.may[operation]) throw forbidden('', `you may not ${operation} rows`)
  const { values, fixed, links, errors: cellErrors } = parseRow(cells, columns, id === undefined)
  if (id === undefined) {
    const errors = [...cellErrors, ...refuseChanges(fixed, undefined)]
    const newLinks = links.filter(([, keys]) => keys.length > 0)
    setLinks(values, newLinks, described)
    return await withAllErrors(errors, () => writer.records.create(values))
  }
  const stored = await readStored(records, rights, id, links)
  const errors = [...cellErrors, ...refuseChanges(fixed, stored)]
  const changedLinks = links.filter(
    ([column, keys]) => !haveSameKeys(keys, linkedKeys(stored, column)),
  )
  setLinks(values, changedLinks, described)
  const versions = version === undefined ? undefined : [version]
  const written = await withAllErrors(errors, () => writer.records.update(id, values, versions))
  if (written === null) throw noSuchRow(rights)
  return written
}

/** @throws {HttpError} 403 for links that other callers may change */
function setLinks(
  values: Row,
  changedLinks: ParsedRow['links'],
  { relations }: RecordDescription,
): void {
  for (const [{ name, linkable }, keys] of changedLinks) {
    if (!linkable && relations.some((relation) => relation.ids === name && relation.linkable))
      throw forbidden(name)
    values[name] = keys
  }
}

/** The row with linked rows, to compare its cells. Empty for a caller who may not read it, whose file has no such cells. */
async function readStored(
  records: PageRecord['records'],
  rights: RecordRights,
  id: string,
  links: ParsedRow['links'],
): Promise<Row> {
  if (!rights.may.read) return {}
  const before = await records.find(id, { with: links.map(([{ relation }]) => relation) })
  if (before === null) throw noSuchRow(rights)
  return toJson(before, rights)
}

/**
 * Writes a row. Rejects it with the errors of its cells and the validation errors of the other fields together.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
async function withAllErrors<R extends Row | null>(
  cellErrors: readonly FieldError[],
  write: () => Promise<R>,
): Promise<R> {
  try {
    const written = await write()
    if (cellErrors.length === 0) return written
  } catch (error) {
    const isClientError = error instanceof HttpError && error.status < 500
    if (cellErrors.length === 0 || !isClientError || error.code !== 'VALIDATION') throw error
    const names = new Set(cellErrors.map(({ path }) => path))
    const otherErrors = (error.errors ?? []).filter(({ path }) => !names.has(path))
    throw error.with({ errors: [...cellErrors, ...otherErrors] })
  }
  throw invalid(cellErrors)
}

function noSuchRow({ key }: RecordRights): HttpError {
  return invalid([{ path: key.name, code: 'unknown', message: 'There is no such row.' }])
}

function haveSameKeys(keys: readonly unknown[], otherKeys: readonly unknown[]): boolean {
  const keySet = new Set(keys)
  return keySet.size === new Set(otherKeys).size && otherKeys.every((key) => keySet.has(key))
}

/** The key and the version in the cells of a row. */
function readIdentity(
  cells: readonly Cell[],
  columns: readonly Column[],
): { id: string | undefined; version: number | undefined } {
  const textOf = (use: Column['use']): string => {
    const index = columns.findIndex((column) => column.use === use)
    return index === -1 ? '' : (cells[index]?.text.trim() ?? '')
  }
  const [id, version] = [textOf('key'), textOf('version')]
  return {
    id: id === '' ? undefined : id,
    version: version === '' || id === '' ? undefined : Number(version),
  }
}

/**
 * Errors of cells that the caller cannot change and that differ from the stored row. Equal cells are allowed, so that an exported
 * file can be imported.
 *
 * @throws {HttpError} 403 if other callers may write the field
 */
function refuseChanges(fixed: readonly FixedCell[], before: Row | undefined): FieldError[] {
  const changed = fixed.filter(
    ([column, text]) => readCell(text) !== plainText(toCellValue(column, before?.[column.name])),
  )
  for (const [{ name, use }] of changed) if (use === 'forbidden') throw forbidden(name)
  return changed.map(([column]) =>
    cellError(column, 'cannot be changed and differs from the stored value'),
  )
}

function plainText(value: unknown): string {
  const cell = writeCell(value)
  return readCell(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
}

const unreadable = Symbol('unreadable')

/** @returns undefined if the cell has no value, `unreadable` if it cannot be parsed */
function parseValue(
  column: FieldColumn,
  { text: cellText, quoted }: Cell,
  isNew: boolean,
): unknown {
  const { kind, list, nullable, required, rules } = column
  const text = readCell(cellText)
  const isText = textKinds.has(kind) && !list
  if (text === '' && !(quoted && (isText || (emptyKinds.has(kind) && !list)))) {
    if (nullable) return isNew && rules.default !== undefined ? undefined : null
    if (isText && !required) return isNew ? undefined : ''
    // The validation reports that the field is required.
    return isNew ? undefined : isText ? '' : unreadable
  }
  if (list || kind === 'json' || kind === 'class') return readJson(text)
  if (isText) return text
  if (kind === 'enum' && rules.oneOf?.includes(text) === true) return text
  const trimmed = text.trim()
  const number = kind === 'numeric' ? readNumber(trimmed) : undefined
  const value = number ?? column.fromText(trimmed)
  return value === undefined ? unreadable : value
}

const textKinds: ReadonlySet<string> = new Set(['string', 'text'])
/** Other kinds that have an empty value, which is a quoted empty cell. */
const emptyKinds: ReadonlySet<string> = new Set(['blob', 'enum'])

function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return unreadable
  }
}

/** @throws {HttpError} 403 for a file that contains what the caller may not write, as at every other interface */
function toRowErrors(error: unknown, row: number): RowError[] {
  if (!(error instanceof HttpError) || error.status >= 500) throw error
  const { errors = [], message } = error.forClient()
  if (error.status === 403 && errors.some(({ code }) => code === 'forbidden'))
    throw error.with({ message: `Row ${row}: ${message}` })
  if (errors.length === 0) return [{ row, path: '', message }]
  return errors.map((fieldError) => ({ row, path: fieldError.path, message: fieldError.message }))
}

function forbidden(path: string, message = `you may not write ${path}`): HttpError {
  const errors = [{ path, code: 'forbidden', message }]
  return new HttpError(403, message, { code: 'FORBIDDEN', errors })
}

function cellError({ name }: Pick<Column, 'name'>, message: string): FieldError {
  return { path: name, code: 'type', message: `${name} ${message}` }
}

function invalid(errors: readonly FieldError[]): HttpError {
  return new HttpError(400, errors.map(({ message }) => message).join('; '), {
    code: 'VALIDATION',
    errors,
  })
}
