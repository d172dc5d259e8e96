/**
 * Finds the field whose value the database has refused: `"x"` is no address, `[3,1]` no range. It runs only after the error,
 * so that statements cost nothing more.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import type { EngineError } from '../../engines/contract/engine-error.js'
import type { Column } from '../../engines/contract/table.js'
import type { Statement } from '../../engines/contract/statement.js'
import type { FieldError } from '../../errors/field-error.js'
import type { Table } from '../model/table.js'
import type { Source } from './source.js'

/** A value that a statement has sent for a column, or for a comparison with it. */
export interface SentValue {
  readonly column: Column
  /** Of the record or of the statement, a list for several. */
  readonly value: unknown
}

/** @returns an error for each visible field whose value was refused; an empty list if none is known */
export function refusedFields(
  error: EngineError,
  sent: readonly SentValue[],
  { types }: Dialect,
): FieldError[] {
  const visible = sent.filter(({ column }) => !column.field.hidden)
  if (error.refusedDomain !== undefined) return refusedByDomain(error.refusedDomain, sent, types)
  const exact = visible.filter((one) => isRefused(error, one, types))
  const found = exact.length > 0 ? exact : visible.filter((one) => isRefusedInPart(error, one))
  const fields = found.map(({ column }) => [column.property, toFieldError(error, column)] as const)
  return [...new Map(fields).values()]
}

/** A domain has refused a value of it: which one is known if only one field has the domain. */
function refusedByDomain(
  domain: string,
  sent: readonly SentValue[],
  { declared }: Dialect['types'],
): FieldError[] {
  const columns = sent
    .filter(({ value }) => value !== null && value !== undefined)
    .map(({ column }) => column)
    .filter(
      ({ type }) =>
        type !== undefined && declared?.isSame(type, { ...anyColumn, type: domain }) === true,
    )
  const [column, ...others] = new Set(columns)
  if (column === undefined || others.length > 0 || column.field.hidden) return []
  const { property } = column
  return [{ path: property, code: 'check', message: `${property} is not allowed` }]
}

/** Whether the database's message names the value, or else the column's type. */
export function isRefused(
  { refusedValue, refusedType }: EngineError,
  { column, value }: SentValue,
  { declared }: Dialect['types'],
): boolean {
  if (value === null || value === undefined) return false
  if (refusedValue !== undefined) return textsOf(value).includes(refusedValue)
  if (refusedType === undefined) return false
  if (column.type !== undefined)
    return declared?.isSame(column.type, { ...anyColumn, type: refusedType }) === true
  const maxLength = lengthIn(refusedType)
  return (
    maxLength !== undefined && typeof value === 'string' && Array.from(value).length > maxLength
  )
}

/** Whether the message names a part of the value: a digit, or an item of an array. */
function isRefusedInPart({ refusedValue }: EngineError, { column, value }: SentValue): boolean {
  if (refusedValue === undefined || refusedValue === '' || column.type === undefined) return false
  if (value === null || value === undefined) return false
  return textsOf(value).some((text) => text.includes(refusedValue))
}

const anyColumn = { name: '', nullable: true, optional: true }

function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf)
  if (typeof value === 'object') return [JSON.stringify(value)]
  const scalar = value as bigint | boolean | number | string
  return [String(scalar)]
}

/** `character varying(10)` → 10 */
function lengthIn(type: string): number | undefined {
  const [, length] = /^character.*\((\d+)\)$/.exec(type) ?? []
  return length === undefined ? undefined : Number(length)
}

function toFieldError({ refusedType }: EngineError, { property, type }: Column): FieldError {
  const maxLength = refusedType === undefined ? undefined : lengthIn(refusedType)
  if (maxLength !== undefined) {
    const message = `${property} must have at most ${maxLength} characters`
    return { path: property, code: 'maxLength', message }
  }
  const what = type === undefined ? 'value' : type.replace(/\s*(?:\[\d*\])+$/, '')
  return { path: property, code: 'type', message: `${property} must be a valid ${what}` }
}

type Refused = (error: EngineError) => readonly FieldError[]

/** Finds the fields of a written row. */
export function refusedOfRow(
  { columns }: Table,
  { context }: Pick<Source, 'context'>,
  row: Readonly<Record<string, unknown>>,
): Refused {
  return (error) => {
    const sent = columns.map((column) => ({ column, value: row[column.property] }))
    return refusedFields(error, sent, context.dialect)
  }
}

/** Finds the fields of a statement. @param values in the order of the placeholders */
export function refusedOfStatement(
  { context }: Pick<Source, 'context'>,
  statement: Statement,
  values: readonly unknown[],
): Refused {
  return (error) => {
    const tables = [...context.tables].filter(({ name }) => statement.tables.includes(name))
    // The table of the requested record comes first.
    tables.sort(
      (one, other) => statement.tables.indexOf(one.name) - statement.tables.indexOf(other.name),
    )
    return refusedFields(error, sentByStatement(statement, values, tables), context.dialect)
  }
}

/**
 * The values of a statement with the columns that it compares them with or writes them to.
 *
 * @param tables of which the columns are; the first one with a column of the name counts
 * @param values in the order of the placeholders
 */
function sentByStatement(
  { valueColumns = [] }: Pick<Statement, 'valueColumns'>,
  values: readonly unknown[],
  tables: readonly Table[],
): SentValue[] {
  const byName = new Map<string, Column>()
  for (const { columns } of tables)
    for (const column of columns) if (!byName.has(column.name)) byName.set(column.name, column)
  return values.flatMap((value, index) => {
    const column = byName.get(valueColumns[index] ?? '')
    return column === undefined ? [] : [{ column, value }]
  })
}
