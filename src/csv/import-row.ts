/** Writes a row of an imported file. */
import type { FieldError } from '../errors/field-error.js'
import { HttpError } from '../errors/http-error.js'
import {
  toClientRow,
  type RecordDescription,
  type RecordRights,
} from '../records/rest/record-rights.js'
import type { Cell } from './cell-text.js'
import type { CsvRecords, CsvValues } from './csv-records.js'
import { findFixedCellErrors, forbidden, parseRow, type ParsedRow } from './import-cells.js'
import type { ImportColumn } from './import-columns.js'
import type { WritableRecords } from './import-writers.js'
import { linkedKeys } from './link-columns.js'

/** What the rows of a file are written to. */
export interface ImportTarget {
  readonly records: CsvRecords
  readonly rights: RecordRights
  readonly columns: readonly ImportColumn[]
}

/**
 * Creates the row, or updates it if the cells have a key.
 *
 * @returns the written row
 * @throws {HttpError} with the errors of all cells and fields
 */
export async function writeRow(
  { records, rights, columns }: ImportTarget,
  writer: WritableRecords,
  cells: readonly Cell[],
): Promise<object> {
  if (cells.length > columns.length) throw moreCellsThanColumns(cells, columns)
  const { id, version } = readIdentity(cells, columns)
  const operation = id === undefined ? 'create' : 'update'
  if (!rights.may[operation]) throw forbidden('', `you may not ${operation} rows`)
  const { values, fixed, links, errors } = parseRow(cells, columns, id === undefined)
  const isCompared = id !== undefined && fixed.length + links.length > 0
  const stored = isCompared ? await readStored(records, rights, id, links) : undefined
  const cellErrors = [...errors, ...findFixedCellErrors(fixed, stored)]
  const changedLinks = links.filter(
    ([column, keys]) => !haveSameKeys(keys, stored === undefined ? [] : linkedKeys(stored, column)),
  )
  addLinks(values, changedLinks, records.described)
  const written = await withAllErrors(cellErrors, () =>
    id === undefined
      ? writer.create(values)
      : writer.update(id, values, version === undefined ? undefined : [version]),
  )
  if (written === null) throw noSuchRow(rights)
  return written
}

/** The key and the version in the cells of a row. */
function readIdentity(
  cells: readonly Cell[],
  columns: readonly ImportColumn[],
): { id: string | undefined; version: number | undefined } {
  const textOf = (use: ImportColumn['use']): string => {
    const index = columns.findIndex((column) => column.use === use)
    return index === -1 ? '' : (cells[index]?.text.trim() ?? '')
  }
  const [id, version] = [textOf('key'), textOf('version')]
  return {
    id: id === '' ? undefined : id,
    version: version === '' || id === '' ? undefined : Number(version),
  }
}

/** The row with linked rows, to compare its cells. Empty for a caller who may not read it, whose file has no such cells. */
async function readStored(
  records: CsvRecords,
  rights: RecordRights,
  id: string,
  links: ParsedRow['links'],
): Promise<CsvValues> {
  if (!rights.may.read) return {}
  const relations = links.map(([{ relation }]) => relation)
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
  for (const [{ name, linkable }, keys] of changedLinks) {
    if (!linkable && relations.some((relation) => relation.ids === name && relation.linkable))
      throw forbidden(name)
    values[name] = keys
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
  return invalid([{ path: key.name, code: 'noSuchRow', message: 'There is no such row.' }])
}

function invalid(errors: readonly FieldError[]): HttpError {
  return new HttpError(400, errors.map(({ message }) => message).join('; '), {
    code: 'VALIDATION',
    errors,
  })
}
