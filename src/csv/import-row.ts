/** Writes a row of an imported file. */
import type { FieldError } from '../errors/field-error.js'
import { HttpError } from '../errors/http-error.js'
import {
  toClientRow,
  type DescribedKey,
  type RecordDescription,
  type RecordRights,
} from '../records/rest/record-rights.js'
import type { Cell } from './cell-text.js'
import type { CsvRecords, CsvValues } from './csv-records.js'
import {
  findFixedCellErrors,
  forbidden,
  parseRow,
  readGivenKey,
  type ParsedRow,
} from './import-cells.js'
import type { ImportColumn } from './import-columns.js'
import type { WritableRecords } from './import-writers.js'
import { linkedKeys, toLinkInput } from './link-columns.js'

/** What the rows of a file are written to. */
export interface ImportTarget {
  readonly records: CsvRecords
  readonly rights: RecordRights
  readonly columns: readonly ImportColumn[]
}

export interface WrittenRow {
  readonly row: object
  readonly isNew: boolean
}

/**
 * Creates the row, or updates it if the cells have a key. If people give keys, a row whose key no row has is new.
 *
 * @throws {HttpError} with the errors of all cells and fields
 */
export async function writeRow(
  target: ImportTarget,
  writer: WritableRecords,
  cells: readonly Cell[],
): Promise<WrittenRow> {
  const { records, rights, columns } = target
  if (cells.length > columns.length) throw moreCellsThanColumns(cells, columns)
  const identity = readIdentity(cells, columns, rights.key)
  const { id } = identity
  const isGiven = rights.key.parts !== undefined && id !== undefined
  const isNew = isGiven && rights.may.read && (await records.find(id, [])) === null
  const row = await writeAs(target, writer, cells, isNew ? noIdentity : identity)
  if (row !== null) return { row, isNew: isNew || id === undefined }
  if (!isGiven || rights.may.read) throw noSuchRow(rights)
  // Who may not read the row only learns this from the update.
  const created = await writeAs(target, writer, cells, noIdentity)
  return { row: created as object, isNew: true }
}

interface RowIdentity {
  readonly id: string | undefined
  readonly version: number | undefined
}

const noIdentity: RowIdentity = { id: undefined, version: undefined }

/** @returns the written row, or null if no row has the key */
async function writeAs(
  { records, rights, columns }: ImportTarget,
  writer: WritableRecords,
  cells: readonly Cell[],
  { id, version }: RowIdentity,
): Promise<object | null> {
  const operation = id === undefined ? 'create' : 'update'
  if (!rights.may[operation]) throw forbidden('', `you may not ${operation} rows`)
  const { values, fixed, links, errors } = parseRow(cells, columns, id === undefined)
  const isCompared = id !== undefined && fixed.length + links.length > 0
  const stored = isCompared ? await readStored(records, rights, id, links) : undefined
  const cellErrors = [...errors, ...findFixedCellErrors(fixed, stored)]
  const changedLinks = links.filter(
    ({ column, keys }) =>
      !haveSameKeys(keys, stored === undefined ? [] : linkedKeys(stored, column)),
  )
  // A key never changes.
  if (id !== undefined)
    for (const name of rights.key.parts ?? []) Reflect.deleteProperty(values, name)
  addLinks(values, changedLinks, records.described)
  return withAllErrors(cellErrors, () =>
    id === undefined
      ? writer.create(values)
      : writer.update(id, values, version === undefined ? undefined : [version]),
  )
}

/** The key and the version in the cells of a row. */
function readIdentity(
  cells: readonly Cell[],
  columns: readonly ImportColumn[],
  key: DescribedKey,
): RowIdentity {
  const textOf = (use: ImportColumn['use']): string => {
    const index = columns.findIndex((column) => column.use === use)
    return index === -1 ? '' : (cells[index]?.text.trim() ?? '')
  }
  const version = textOf('version')
  const id = key.parts === undefined ? textOf('key') : readGivenKey(cells, columns, key)
  if (id === undefined || id === '') return noIdentity
  return { id, version: version === '' ? undefined : Number(version) }
}

/** The row with linked rows, to compare its cells. Empty for a caller who may not read it, whose file has no such cells. */
async function readStored(
  records: CsvRecords,
  rights: RecordRights,
  id: string,
  links: ParsedRow['links'],
): Promise<CsvValues> {
  if (!rights.may.read) return {}
  const relations = links.map(({ column: { relation } }) => relation)
  const before = await records.find(id, relations)
  if (before === null) throw noSuchRow(rights)
  return toClientRow(before, rights)
}

function haveSameKeys(keys: readonly unknown[], otherKeys: readonly unknown[]): boolean {
  const keySet = new Set(keys)
  return keySet.size === new Set(otherKeys).size && otherKeys.every((key) => keySet.has(key))
}

/** @throws {HttpError} 403 for links that other callers may change */
function addLinks(
  values: CsvValues,
  changedLinks: ParsedRow['links'],
  { relations }: RecordDescription,
): void {
  for (const { column, keys } of changedLinks) {
    const { ids, linkable } = column
    if (!linkable && relations.some((relation) => relation.ids === ids && relation.linkable))
      throw forbidden(ids)
    values[ids] = toLinkInput(column, keys)
  }
}

/**
 * Writes a row. Rejects it with the errors of its cells, and the validation errors and conflicts of the other fields,
 * together.
 *
 * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`
 */
async function withAllErrors<R extends object | null>(
  cellErrors: readonly FieldError[],
  write: () => Promise<R>,
): Promise<R> {
  try {
    const written = await write()
    if (cellErrors.length === 0) return written
  } catch (error) {
    const isClientError = error instanceof HttpError && error.status < 500
    if (cellErrors.length === 0 || !isClientError || !joinedCodes.has(error.code)) throw error
    const names = new Set(cellErrors.map(({ path }) => path))
    const { code, message, errors = [{ path: '', code, message }] } = error
    const otherErrors = errors.filter(({ path }) => !names.has(path))
    throw error.with({ errors: [...cellErrors, ...otherErrors] })
  }
  throw invalid(cellErrors)
}

const joinedCodes: ReadonlySet<string | undefined> = new Set(['VALIDATION', 'CONFLICT'])

function moreCellsThanColumns(cells: readonly Cell[], columns: readonly ImportColumn[]): HttpError {
  const message = `The row has ${cells.length} cells, the first one ${columns.length}.`
  return invalid([{ path: '', code: 'cellCount', message }])
}

function noSuchRow({ key }: RecordRights): HttpError {
  const [path = key.name] = key.parts ?? []
  return invalid([{ path, code: 'noSuchRow', message: 'There is no such row.' }])
}

function invalid(errors: readonly FieldError[]): HttpError {
  return new HttpError(400, errors.map(({ message }) => message).join('; '), {
    code: 'VALIDATION',
    errors,
  })
}
