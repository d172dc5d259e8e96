/** Reads CSV into a record, row by row, with the caller's rights. Source: specification, Admin page 9. */
import {
  clip,
  HttpError,
  parseJson,
  type FieldDescription,
  type FieldError,
  type RecordRights,
} from '../../index.js'
import { CsvFault, readCell, readLines, writeCell, type Cell, type Line } from './csv-format.js'
import { keysIn, readKeys, tiesOf, type TieColumn } from './export-csv.js'
import { asJson, demandAny, type Row, type ShownRecord } from './page-records.js'

/** Faults that are told; a file with as many is looked at no further. */
const mostFaults = 50

export interface RowFault {
  /** In the file; the line of names is 1. */
  readonly row: number
  /** The column; empty for the whole row. */
  readonly path: string
  readonly message: string
}

export interface Imported {
  /** Rows that were read. */
  readonly rows: number
  readonly faults: readonly RowFault[]
}

/** How the rows of a file are written. */
export interface RowWriter {
  /** Runs the work on up to 50 rows. */
  batch(work: () => Promise<void>): Promise<void>
  /** Runs the work on one row, so that it can fail alone. */
  row<R>(work: () => Promise<R>): Promise<R>
}

/** Rows of a batch. A check holds the locks of a batch only until it is rolled back, some 20 ms. */
const batchRows = 50

/** Writes all rows of a file: those with a key as changes, others as new ones. The caller rolls back if there are errors. */
export async function readCsv(
  shown: ShownRecord,
  file: Buffer,
  writer: RowWriter,
): Promise<Imported> {
  const faults: RowFault[] = []
  let rows = 0
  const rights = await shown.records.rights()
  demandAny(rights, 'create', 'update')
  const unique = new UniqueValues(rights)
  try {
    const lines = readLines(decode(file))
    const names = lines.next()
    if (names.done === true) return { rows, faults: [emptyFile] }
    const columns = readColumns(rights, names.value.cells, faults)
    while (faults.length === 0 || (rows > 0 && faults.length < mostFaults)) {
      const batch = takeBatch(lines)
      if (batch.length === 0) break
      // Other requests have a turn between two batches.
      await nextTurn()
      const before = { rows, faults: faults.length }
      await writer.batch(async () => {
        // A batch that met a conflict runs again from its beginning.
        rows = before.rows
        faults.length = before.faults
        unique.begin()
        for (const { row, cells } of batch) {
          rows++
          // A row may link a thousand others.
          if (rows % 20 === 0) await nextTurn()
          await writer
            .row(async () => {
              unique.add(await writeRow(shown, rights, cells, columns))
            })
            .catch((error: unknown) => faults.push(...toFaults(error, row)))
          if (faults.length >= mostFaults) break
        }
      })
      unique.keep()
    }
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    faults.push({ row: error.row, path: '', message: `This row ${error.message}.` })
  }
  return { rows, faults: faults.slice(0, mostFaults) }
}

const emptyFile: RowFault = { row: 1, path: '', message: 'The file is empty.' }

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Lines of the file in one slice of the event loop. */
function takeBatch(lines: Generator<Line, void>): Line[] {
  const batch: Line[] = []
  let characters = 0
  while (batch.length < batchRows && characters < batchCharacters) {
    const next = lines.next()
    if (next.done === true) break
    batch.push(next.value)
    for (const { text } of next.value.cells) characters += text.length
  }
  return batch
}

/** Characters after which a batch takes no further row: to split so many takes a few milliseconds. */
const batchCharacters = 262_144

/**
 * The values of unique fields that the file has had. A check rolls each batch back, so the database cannot find two equal
 * values in different batches.
 */
class UniqueValues {
  readonly #groups: readonly (readonly string[])[]
  readonly #key: string
  readonly #seen = new Map<string, unknown>()
  /** Those of the batch that runs. */
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

  begin(): void {
    this.#pending.clear()
  }

  keep(): void {
    for (const [value, id] of this.#pending) this.#seen.set(value, id)
  }

  /** @throws {HttpError} 409 another row of the file has the same value */
  add(stored: Row): void {
    const id = stored[this.#key]
    for (const names of this.#groups) {
      const values = names.map((name) => stored[name])
      // Two rows without a value are not alike.
      if (values.some((value) => value === null || value === undefined)) continue
      const seenKey = JSON.stringify([names, values])
      const first = this.#pending.get(seenKey) ?? this.#seen.get(seenKey)
      if (first !== undefined && first !== id) throw takenTwice(names)
      this.#pending.set(seenKey, id)
    }
  }
}

function takenTwice(names: readonly string[]): HttpError {
  const taken = names.length === 1 ? 'is' : 'together are'
  const message = `${names.join(' and ')} ${taken} already taken by another row of the file`
  const errors = names.map((path) => ({ path, code: 'unique', message }))
  return new HttpError(409, message, { code: 'CONFLICT', errors })
}

interface FieldColumn extends FieldDescription {
  readonly use: 'key' | 'version' | 'value' | 'fixed'
}

type Column = FieldColumn | TieColumn

/** UTF-8, or UTF-16 with its mark, as spreadsheets save it. @throws {CsvFault} */
function decode(file: Buffer): string {
  const isWide = file[0] === 0xff && file[1] === 0xfe
  try {
    return new TextDecoder(isWide ? 'utf-16le' : 'utf-8', { fatal: true }).decode(file)
  } catch {
    throw new CsvFault(1, 'is no UTF-8: save the file as CSV UTF-8')
  }
}

function readColumns(rights: RecordRights, cells: readonly Cell[], faults: RowFault[]): Column[] {
  const { fields, key, version } = rights
  const known = new Map(
    [...fields, ...tiesOf(rights)].map((one): [string, FieldDescription | TieColumn] => [
      one.name,
      one,
    ]),
  )
  const seen = new Set<string>()
  const columns: Column[] = []
  for (const { text } of cells) {
    const name = text.trim()
    const field = known.get(name)
    if (field === undefined || seen.has(name)) {
      const message = seen.has(name)
        ? `The column "${clip(name)}" is there twice.`
        : `There is no field "${clip(name)}". Fields: ${[...known.keys()].join(', ')}.`
      faults.push({ row: 1, path: clip(name), message })
      continue
    }
    seen.add(name)
    if ('use' in field) {
      columns.push(field)
      continue
    }
    const use =
      name === key.name ? 'key' : name === version ? 'version' : field.writable ? 'value' : 'fixed'
    columns.push({ ...field, use })
  }
  return columns
}

/** What the cells of one row say. */
interface ReadRow {
  readonly values: Row
  /** Columns that cannot be written: they may say only what is stored. */
  readonly fixed: readonly FixedCell[]
  readonly ties: readonly (readonly [tie: TieColumn, keys: (string | number)[]])[]
  /** Cells that cannot be read. */
  readonly faults: readonly FieldError[]
}

type FixedCell = readonly [column: FieldColumn, text: string]

function readRow(cells: readonly Cell[], columns: readonly Column[], isNew: boolean): ReadRow {
  const values: Row = {}
  const faults: FieldError[] = []
  const fixed: FixedCell[] = []
  const ties: [tie: TieColumn, keys: (string | number)[]][] = []
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? { text: '', quoted: false }
    if (column.use === 'fixed') fixed.push([column, cell.text])
    if (column.use === 'ties') {
      const keys = readKeys(column, cell)
      if (keys === undefined) faults.push(unfit(column, 'must be keys: 3;17'))
      else ties.push([column, keys])
    }
    if (column.use !== 'value') continue
    const value = readValue(column, cell, isNew)
    if (value === unreadable)
      faults.push(
        unfit(column, `must be ${/^[aeio]/.test(column.kind) ? 'an' : 'a'} ${column.kind}`),
      )
    else if (value !== undefined) values[column.name] = value
  }
  return { values, fixed, ties, faults }
}

async function writeRow(
  { records }: ShownRecord,
  rights: RecordRights,
  cells: readonly Cell[],
  columns: readonly Column[],
): Promise<Row> {
  if (cells.length > columns.length)
    throw new HttpError(400, `The row has ${cells.length} cells, the first one ${columns.length}.`)
  const { id, version } = readOwn(cells, columns)
  const { values, fixed, ties, faults } = readRow(cells, columns, id === undefined)
  if (id === undefined) {
    for (const [{ name }, keys] of ties) if (keys.length > 0) values[name] = keys
    const found = [...faults, ...changedCells(fixed, undefined)]
    return await withAllErrors(found, () => records.create(values))
  }
  const before = await records.find(id, { with: ties.map(([{ relation }]) => relation) })
  if (before === null) throw noSuchRow(rights)
  const stored = asJson(before)
  for (const [tie, keys] of ties) if (!areAlike(keys, keysIn(stored, tie))) values[tie.name] = keys
  const found = [...faults, ...changedCells(fixed, stored)]
  const versions = version === undefined ? undefined : [version]
  const written = await withAllErrors(found, () => records.update(id, values, versions))
  if (written === null) throw noSuchRow(rights)
  return written
}

/**
 * Writes a row and rejects it with all its errors: those of its cells, and those that the write finds in the others.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
async function withAllErrors<R extends Row | null>(
  found: readonly FieldError[],
  write: () => Promise<R>,
): Promise<R> {
  try {
    const written = await write()
    if (found.length === 0) return written
  } catch (error) {
    const isClients = error instanceof HttpError && error.status < 500
    if (found.length === 0 || !isClients || error.code !== 'VALIDATION') throw error
    const names = new Set(found.map(({ path }) => path))
    throw invalid([...found, ...(error.errors ?? []).filter(({ path }) => !names.has(path))])
  }
  throw invalid(found)
}

function noSuchRow({ key }: RecordRights): HttpError {
  return invalid([{ path: key.name, code: 'unknown', message: 'There is no such row.' }])
}

function areAlike(some: readonly unknown[], others: readonly unknown[]): boolean {
  const one = new Set(some)
  return one.size === new Set(others).size && others.every((other) => one.has(other))
}

/** The key and the version that a row names itself by. */
function readOwn(
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
 * Errors of cells that cannot be written and differ from the row. Equal ones are allowed: a file that was exported can be
 * imported.
 */
function changedCells(fixed: readonly FixedCell[], before: Row | undefined): FieldError[] {
  return fixed
    .filter(([{ name }, text]) => readCell(text) !== plainText(before?.[name]))
    .map(([column]) => unfit(column, 'cannot be changed, and is another in the row'))
}

function plainText(value: unknown): string {
  const cell = writeCell(value)
  return readCell(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
}

const unreadable = Symbol('unreadable')

/** @returns undefined where nothing is given */
function readValue(column: FieldColumn, { text: given, quoted }: Cell, isNew: boolean): unknown {
  const { kind, list, nullable, required, rules } = column
  const text = readCell(given)
  const isText = textKinds.has(kind) && !list
  if (text === '' && !(isText && quoted)) {
    if (nullable) return isNew && rules.default !== undefined ? undefined : null
    if (isText && !required) return isNew ? undefined : ''
    // The check says that it is required.
    return isNew ? undefined : isText ? '' : unreadable
  }
  if (list || kind === 'json' || kind === 'class') return readJson(text)
  if (isText) return text
  const value = column.fromText(text.trim())
  return value === undefined ? unreadable : value
}

const textKinds: ReadonlySet<string> = new Set(['string', 'text'])

function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return unreadable
  }
}

function toFaults(error: unknown, row: number): RowFault[] {
  if (!(error instanceof HttpError) || error.status >= 500) throw error
  const { errors = [], message } = error
  if (errors.length === 0) return [{ row, path: '', message }]
  return errors.map(({ path, message: words }) => ({ row, path, message: words }))
}

function unfit({ name }: Pick<Column, 'name'>, message: string): FieldError {
  return { path: name, code: 'type', message: `${name} ${message}` }
}

function invalid(errors: readonly FieldError[]): HttpError {
  return new HttpError(400, errors.map(({ message }) => message).join('; '), {
    code: 'VALIDATION',
    errors,
  })
}
