/** Parses the cells of a row of an imported file. */
import { parseJson } from '../core/json.js'
import type { FieldError } from '../errors/field-error.js'
import type { DescribedKey } from '../records/rest/record-rights.js'
import { HttpError } from '../errors/http-error.js'
import { readCell, readNumber, writeCell, type Cell } from './cell-text.js'
import type { CsvValues } from './csv-records.js'
import { toCellValue } from './export-rows.js'
import type { FieldColumn, ImportColumn } from './import-columns.js'
import { readKeys, readKeysOfParts, type LinkColumn, type ParsedLinks } from './link-columns.js'

/** The parsed cells of a row. */
export interface ParsedRow {
  readonly values: CsvValues
  /** Cells that the caller cannot change. They must equal the stored values. */
  readonly fixed: readonly FixedCell[]
  readonly links: readonly ParsedLinks[]
  /** Errors of cells that cannot be parsed. */
  readonly errors: readonly FieldError[]
}

type FixedCell = readonly [column: FieldColumn, text: string]

export function parseRow(
  cells: readonly Cell[],
  columns: readonly ImportColumn[],
  isNew: boolean,
): ParsedRow {
  const values: CsvValues = {}
  const errors: FieldError[] = []
  const fixed: FixedCell[] = []
  const links: ParsedLinks[] = []
  const parts = new Map<string, [column: LinkColumn, cell: Cell][]>()
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? { text: '', quoted: false }
    if (column.use === 'fixed' || column.use === 'forbidden') fixed.push([column, cell.text])
    if (column.use === 'links' && column.part !== undefined)
      parts.set(column.ids, [...(parts.get(column.ids) ?? []), [column, cell]])
    else if (column.use === 'links') {
      const keys = readKeys(column, cell)
      if (keys === undefined) errors.push(cellError(column, 'keys', 'must be keys: 3;17'))
      else links.push({ column, keys })
    }
    if (column.use !== 'value') continue
    const value = parseValue(column, cell, isNew)
    if (value === unreadable) errors.push(unreadableCell(column))
    else if (value !== undefined) values[column.name] = value
  }
  for (const cellsOfKey of parts.values()) {
    const [[column]] = cellsOfKey as [[LinkColumn, Cell]]
    const keys = readKeysOfParts(cellsOfKey)
    if (keys === undefined) errors.push(cellError(column, 'keys', partsText(column)))
    else links.push({ column, keys })
  }
  return { values, fixed, links, errors }
}

function partsText({ ids, key: { parts = [] } }: LinkColumn): string {
  const names = parts.map((name) => `${ids}.${name}`).join(' and ')
  return `must be lists of the same length in ${names}: 3;17`
}

/**
 * The key of a row, where people give keys: from the cells of its fields.
 *
 * @returns undefined if a field is missing, empty or not of its kind
 */
export function readGivenKey(
  cells: readonly Cell[],
  columns: readonly ImportColumn[],
  { parts = [], read }: DescribedKey,
): string | undefined {
  const values = parts.map((name) => {
    const index = columns.findIndex((column) => column.name === name)
    const column = columns[index]
    if (column === undefined || column.use === 'links') return undefined
    return parseValue(column, cells[index] ?? { text: '', quoted: false }, true)
  })
  const isComplete = values.every((value) => value !== undefined && value !== unreadable)
  return isComplete ? read(JSON.stringify(values)) : undefined
}

/**
 * Errors of cells that the caller cannot change and that differ from the stored row. Equal cells are allowed, so that an exported
 * file can be imported.
 *
 * @param stored undefined for a new row
 * @throws {HttpError} 403 if other callers may write the field
 */
export function findFixedCellErrors(
  fixed: readonly FixedCell[],
  stored: CsvValues | undefined,
): FieldError[] {
  const changed = fixed.filter(
    ([column, text]) => readCell(text) !== plainText(toCellValue(column, stored?.[column.name])),
  )
  for (const [{ name, use }] of changed) if (use === 'forbidden') throw forbidden(name)
  return changed.map(([column]) =>
    cellError(column, 'readOnly', 'cannot be changed and differs from the stored value'),
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
  const { list, nullable, required, rules, presentation, fromText } = column
  const text = readCell(cellText)
  const isText = presentation.isFreeText && !list
  // A quoted empty cell is the empty value, if there is one.
  if (text === '' && !(quoted && !list && fromText('') === '')) {
    if (nullable) return isNew && rules.default !== undefined ? undefined : null
    if (isText && !required) return isNew ? undefined : ''
    // The validation reports that the field is required.
    return isNew ? undefined : isText ? '' : unreadable
  }
  if (list || presentation.type === 'json') return readJson(text)
  // Words of a list may begin or end with a space.
  if (isText || rules.oneOf?.includes(text) === true) return text
  const trimmed = text.trim()
  const number = presentation.type === 'number' ? readNumber(trimmed) : undefined
  const value = number ?? fromText(trimmed)
  return value === undefined ? unreadable : value
}

function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return unreadable
  }
}

function unreadableCell({ name, presentation, messages }: FieldColumn): FieldError {
  const message = messages.type ?? `${name} must be ${presentation.label}`
  return { path: name, code: 'type', message }
}

function cellError({ name }: ImportColumn, code: 'keys' | 'readOnly', text: string): FieldError {
  return { path: name, code, message: `${name} ${text}` }
}

export function forbidden(path: string, message = `you may not write ${path}`): HttpError {
  const errors = [{ path, code: 'forbidden', message }]
  return new HttpError(403, message, { code: 'FORBIDDEN', errors })
}
