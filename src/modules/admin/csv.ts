/** CSV out of a list and into a record, through the policy as its caller. Source: specification, Admin page 9. */
import {
  HttpError,
  type FieldDescription,
  type FieldFault,
  type HttpRequest,
  type RecordRights,
} from '../../index.js'
import { CsvFault, readCell, readLines, writeCell, writeLine, type Cell } from './csv-text.js'
import { asJson, refuseWriting, type Row, type ShownRecord } from './shown-records.js'

/** Faults that are told; a file with as many is looked at no further. */
const mostFaults = 50

/** All rows of a list's filter, a piece for some hundred rows. The first piece is read before anything is sent. */
export async function writeCsv(
  { records }: ShownRecord,
  { query }: HttpRequest,
): Promise<AsyncIterable<string>> {
  const { fields } = await records.rights()
  const names = columnsOf(fields, query.fields)
  const pages = records.all(query)
  const first = await pages.next()
  return (async function* () {
    yield writeLine(names)
    for (let page = first; page.done !== true; page = await pages.next())
      yield page.value.map((row) => writeLine(readNames(asJson(row), names))).join('')
  })()
}

function readNames(row: Row, names: readonly string[]): unknown[] {
  return names.map((name) => row[name])
}

/** `fields=` chooses columns as for lists; relations are left out, their keys stand there. */
function columnsOf(
  fields: readonly FieldDescription[],
  asked: string | string[] | undefined,
): string[] {
  const names = fields.map(({ name }) => name)
  if (asked === undefined || names.includes('fields')) return names
  const wanted = new Set([asked].flat().flatMap((text) => text.split(',')))
  return names.filter((name) => wanted.has(name))
}

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

/**
 * Writes all rows of a file, those with a key as changes, others as new ones. To be called in a transaction, which is rolled back
 * where there are faults.
 *
 * @param each runs the work for one row so that it can fail alone
 */
export async function readCsv(
  shown: ShownRecord,
  file: Buffer,
  each: <R>(work: () => Promise<R>) => Promise<R>,
): Promise<Imported> {
  const faults: RowFault[] = []
  let rows = 0
  const rights = await shown.records.rights()
  refuseWriting(rights)
  try {
    let columns: readonly Column[] | undefined
    for (const { row, cells } of readLines(decode(file))) {
      if (columns === undefined) {
        columns = readColumns(rights, cells, faults)
        if (faults.length > 0) break
        continue
      }
      rows++
      if (rows % 200 === 0) await new Promise((resolve) => setImmediate(resolve))
      await each(() => writeRow(shown, rights, cells, columns as readonly Column[])).catch(
        (error: unknown) => faults.push(...toFaults(error, row)),
      )
      if (faults.length >= mostFaults) break
    }
    if (columns === undefined) faults.push({ row: 1, path: '', message: 'The file is empty.' })
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    faults.push({ row: error.row, path: '', message: `This row ${error.message}.` })
  }
  return { rows, faults: faults.slice(0, mostFaults) }
}

interface Column extends FieldDescription {
  readonly use: 'key' | 'version' | 'value' | 'fixed'
}

/** UTF-8, or UTF-16 with its mark, as spreadsheets save it. @throws {CsvFault} */
function decode(file: Buffer): string {
  const isWide = file[0] === 0xff && file[1] === 0xfe
  try {
    return new TextDecoder(isWide ? 'utf-16le' : 'utf-8', { fatal: true }).decode(file)
  } catch {
    throw new CsvFault(1, 'is no UTF-8: save the file as CSV UTF-8')
  }
}

function readColumns(
  { fields, key, version }: RecordRights,
  cells: readonly Cell[],
  faults: RowFault[],
): Column[] {
  const known = new Map(fields.map((field) => [field.name, field]))
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
    const use =
      name === key.name ? 'key' : name === version ? 'version' : field.writable ? 'value' : 'fixed'
    columns.push({ ...field, use })
  }
  return columns
}

async function writeRow(
  { records }: ShownRecord,
  rights: RecordRights,
  cells: readonly Cell[],
  columns: readonly Column[],
): Promise<void> {
  if (cells.length > columns.length)
    throw new HttpError(400, `The row has ${cells.length} cells, the first one ${columns.length}.`)
  const { id, version } = readOwn(cells, columns)
  const values: Row = {}
  const faults: FieldFault[] = []
  const fixed: [column: Column, text: string][] = []
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? { text: '', quoted: false }
    if (column.use === 'fixed') fixed.push([column, cell.text])
    if (column.use !== 'value') continue
    const value = readValue(column, cell, id === undefined)
    if (value === unreadable) faults.push(unfit(column, `must be a ${column.kind}`))
    else if (value !== undefined) values[column.name] = value
  }
  if (faults.length > 0) throw invalid(faults)
  if (id === undefined) {
    refuseFixed(fixed, undefined)
    await records.create(values)
    return
  }
  const before = await records.find(id)
  if (before === null)
    throw invalid([{ path: rights.key.name, code: 'unknown', message: 'There is no such row.' }])
  refuseFixed(fixed, asJson(before))
  await records.update(id, values, version === undefined ? undefined : [version])
}

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

/** What cannot be written may stand in a file as it is stored: a file that was exported can be imported. */
function refuseFixed(fixed: readonly [Column, string][], before: Row | undefined): void {
  const faults = fixed
    .filter(([{ name }, text]) => readCell(text) !== plainText(before?.[name]))
    .map(([column]) => unfit(column, 'cannot be changed, and is another in the row'))
  if (faults.length > 0) throw invalid(faults)
}

function plainText(value: unknown): string {
  const cell = writeCell(value)
  return readCell(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
}

const unreadable = Symbol('unreadable')

/** @returns undefined where nothing is given */
function readValue(column: Column, { text: given, quoted }: Cell, isNew: boolean): unknown {
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
    return JSON.parse(text) as unknown
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

function unfit({ name }: Column, message: string): FieldFault {
  return { path: name, code: 'type', message: `${name} ${message}` }
}

function invalid(errors: readonly FieldFault[]): HttpError {
  return new HttpError(400, errors.map(({ message }) => message).join('; '), {
    code: 'VALIDATION',
    errors,
  })
}

function clip(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name
}
