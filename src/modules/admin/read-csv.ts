/** Reads CSV into a record, row by row, with the caller's rights. Source: specification, Admin page 9. */
import {
  HttpError,
  parseJson,
  type FieldDescription,
  type FieldFault,
  type RecordRights,
} from '../../index.js'
import { CsvFault, readCell, readLines, writeCell, type Cell } from './csv-text.js'
import { keysIn, readKeys, tiesOf, type TieColumn } from './csv-ties.js'
import { asJson, refuseWriting, type Row, type ShownRecord } from './shown-records.js'

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
      // A row may have a thousand keys.
      if (rows % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
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
}

type FixedCell = readonly [column: FieldColumn, text: string]

/** @throws {HttpError} 400 `VALIDATION` with all cells that cannot be read */
function readRow(cells: readonly Cell[], columns: readonly Column[], isNew: boolean): ReadRow {
  const values: Row = {}
  const faults: FieldFault[] = []
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
  if (faults.length > 0) throw invalid(faults)
  return { values, fixed, ties }
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
  const { values, fixed, ties } = readRow(cells, columns, id === undefined)
  if (id === undefined) {
    refuseFixed(fixed, undefined)
    for (const [{ name }, keys] of ties) if (keys.length > 0) values[name] = keys
    await records.create(values)
    return
  }
  const before = await records.find(id, { with: ties.map(([{ relation }]) => relation) })
  if (before === null)
    throw invalid([{ path: rights.key.name, code: 'unknown', message: 'There is no such row.' }])
  const stored = asJson(before)
  refuseFixed(fixed, stored)
  for (const [tie, keys] of ties) if (!areAlike(keys, keysIn(stored, tie))) values[tie.name] = keys
  await records.update(id, values, version === undefined ? undefined : [version])
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

/** What cannot be written may stand in a file as it is stored: a file that was exported can be imported. */
function refuseFixed(fixed: readonly FixedCell[], before: Row | undefined): void {
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

function unfit({ name }: Pick<Column, 'name'>, message: string): FieldFault {
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
