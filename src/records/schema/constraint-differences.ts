/** Finds checks, defaults and primary keys of a table that differ from its record, and the SQL that changes them. */
import type {
  ActualTable,
  TableSchema,
  ActualColumn,
  CheckSchema,
  ColumnSchema,
} from '../../engines/contract/table-schema.js'
import { writeAddCheck } from '../../engines/contract/ddl.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { isCheckOf } from '../model/generated-names.js'
import { rebuildTable, type Difference } from './difference-kinds.js'
import { toBareType, isUuidText } from './type-differences.js'

/**
 * Compares checks by their names, which contain a hash of their text.
 *
 * @param isOwn whether the table was made for its record: then it has no default except the record's
 */
export function compareConstraints(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
  isOwn: boolean,
): Difference[] {
  const existing = actual.columns.get(column.name)
  const { checks = [] } = column
  // Checks of a text that becomes a UUID are dropped with the type.
  const names = isUuidText(column, existing) ? [] : [...(actual.checks?.keys() ?? [])]
  const stale = names.filter(
    (name) =>
      isCheckOf(name, schema.name, column.name) && !checks.some((check) => check.name === name),
  )
  const differences = stale.map((name) => otherCheck(schema, column, name, actual, dialect))
  for (const check of checks) {
    const isChecked =
      actual.checks?.has(check.name) === true && actual.invalidChecks?.has(check.name) !== true
    if (!isChecked) differences.push(missingCheck(schema, column, check, actual, dialect))
  }
  const isKey = schema.primaryKey.includes(column.name)
  if (existing !== undefined && !isKey && hasOtherDefault(column, existing, isOwn))
    differences.push(otherDefault(schema, column, existing, actual, dialect))
  return differences
}

function missingCheck(
  schema: TableSchema,
  column: ColumnSchema,
  check: CheckSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const alter = `alter table ${quoteTable(schema.name)}`
  const isInvalid = actual.checks?.has(check.name) === true
  const state = isInvalid
    ? 'checked by the database for new rows only'
    : 'not checked by the database'
  return {
    kind: 'missing check',
    table: schema.name,
    message: `${schema.name}.${column.name} is ${state} (${column.origin}).`,
    // Repositories enforce the rules anyway.
    blocks: false,
    risk: 'may fail',
    ...(check.isOfForm === true && {
      unlessFound: `select 1 from ${quoteTable(schema.name)} where not (${check.sql}) limit 1`,
    }),
    ...change(schema, actual, dialect, {
      // Existing rows are checked in a second step, which does not block reads and writes.
      sql: [
        ...(isInvalid ? [`${alter} drop constraint if exists ${quote(check.name)}`] : []),
        `${writeAddCheck(schema.name, check)} not valid`,
      ],
      deferred: [`${alter} validate constraint ${quote(check.name)}`],
      undo: [`${alter} drop constraint ${quote(check.name)}`],
    }),
  }
}

/** A check from an earlier rule of the field. It may refuse values that the field now allows. */
function otherCheck(
  schema: TableSchema,
  column: ColumnSchema,
  name: string,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  return {
    kind: 'other check',
    table: schema.name,
    message: `${schema.name}.${column.name} has a check that its field no longer declares (${column.origin}).`,
    blocks: true,
    risk: 'safe',
    ...change(schema, actual, dialect, {
      sql: [`alter table ${quoteTable(schema.name)} drop constraint if exists ${quote(name)}`],
      undo: [writeAddCheck(schema.name, { name, sql: actual.checks?.get(name) ?? 'true' })],
    }),
  }
}

/** Defaults that are neither values nor the current time were set by other programs, and cannot be compared. */
function hasOtherDefault(
  { preset, type }: ColumnSchema,
  existing: ActualColumn,
  isOwn: boolean,
): boolean {
  if (existing.preset === undefined || existing.preset === preset) return preset !== existing.preset
  const value = toPlainDefault(existing.preset, type)
  if (value === undefined) return false
  return preset === undefined ? isOwn : toPlainDefault(preset, type) !== value
}

/**
 * A default in one form, whether we or the database wrote it: `'1.50'::numeric` and `1.5` are equal, and so are
 * `((now() at time zone 'UTC')::date)` and `((now() AT TIME ZONE 'UTC'::text))::date`.
 *
 * @returns `undefined` for other expressions
 */
function toPlainDefault(sql: string, type: string): string | undefined {
  const casts = /::[a-z]+(?: [a-z]+)*(?:\(\d+(?:,\d+)?\))?(?: with(?:out)? time zone)?/gi
  // Files of migrations may come with other line ends.
  const plain = sql.replaceAll('\r\n', '\n').replace(/'(?:[^']|'')*'|[^']+/g, (part) =>
    part.startsWith("'")
      ? part
      : part
          .replace(casts, '')
          .replace(/[()\s]/g, '')
          .toLowerCase(),
  )
  const [, quoted] = /^'((?:[^']|'')*)'$/.exec(plain) ?? []
  const value = quoted ?? plain
  if (quoted === undefined && !/^(?:-?[\d.]+(?:e[+-]?\d+)?|true|false|null)$/.test(value))
    return /^(?:nowattimezone'UTC'|now|strftime'.*,'now')$/.test(value) ? value : undefined
  if (/^(?:bigint|integer|double|numeric|real)/.test(type)) return toPlainNumber(value)
  if (!type.startsWith('timestamptz')) return value
  const timestamp = Date.parse(value.replace(/([+-]\d\d)$/, '$1:00').replace(' ', 'T'))
  return Number.isNaN(timestamp) ? value : new Date(timestamp).toISOString()
}

/** A number in one form, exactly: its digits and its power of ten. `1e-07`, `0.0000001` and `0.00000010` are `1e-7`. */
function toPlainNumber(text: string): string {
  const [, sign, integer = '', fraction = '', exponent = '0'] =
    /^([+-]?)0*(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? []
  if (sign === undefined) return text
  const digits = `${integer}${fraction}`.replace(/0+$/, '')
  const significant = digits.replace(/^0+/, '')
  if (significant === '') return '0'
  const power = Number(exponent) + integer.length - digits.length
  return `${sign === '-' ? '-' : ''}${significant}e${power}`
}

function otherDefault(
  schema: TableSchema,
  { name, preset, origin }: ColumnSchema,
  existing: ActualColumn,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const alter = `alter table ${quoteTable(schema.name)} alter column ${quote(name)}`
  const write = (value: string | undefined): string =>
    value === undefined ? 'drop default' : `set default ${value}`
  const where = `${schema.name}.${name}`
  return {
    kind: 'other default',
    table: schema.name,
    message:
      preset === undefined
        ? `${where} has the default ${existing.preset ?? ''} and should have none (${origin}).`
        : `${where} does not have the default ${preset} (${origin}).`,
    blocks: false,
    risk: 'safe',
    ...change(schema, actual, dialect, {
      sql: [`${alter} ${write(preset)}`],
      undo: [`${alter} ${write(existing.preset)}`],
    }),
  }
}

interface ChangeStatements {
  readonly sql: readonly string[]
  readonly deferred?: readonly string[]
  readonly undo?: readonly string[]
}

/** A table is rebuilt automatically only if it was made by this framework: in other tables something could be lost. */
function change(
  schema: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
  inPlace: ChangeStatements,
): ChangeStatements & { readonly rebuilds?: boolean; readonly upgrades: boolean } {
  const { changes } = dialect.tables
  if (changes.kind === 'in place') return { ...inPlace, upgrades: true }
  return { ...rebuildTable(schema, actual, dialect), upgrades: isOwnTable(schema, actual, true) }
}

/**
 * Whether every column has the type that its field gives it, so that the table was made for the record.
 *
 * @param isComplete whether a column without a field makes it another program's table
 */
export function isOwnTable(
  { columns }: TableSchema,
  actual: ActualTable,
  isComplete: boolean,
): boolean {
  const byName = new Map(columns.map((column) => [column.name, column]))
  return [...actual.columns.values()].every(({ name, type, sql }) => {
    const column = byName.get(name)
    if (column === undefined) return !isComplete
    if (sql === undefined || column.declared !== undefined) return toBareType(column) === type
    return column.type === sql
  })
}
