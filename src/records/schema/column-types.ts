/** Names of column types in catalogues, and which types hold the same values. */
import type { ActualColumn, ColumnSchema } from '../../engines/contract/table-schema.js'

/** Types that hold the same values, so that tables made by other programs can be used. */
const compatibleTypes: Readonly<Record<string, readonly string[]>> = {
  bigint: ['integer', 'smallint'],
  'double precision': ['real', 'numeric'],
  numeric: ['bigint', 'integer', 'smallint'],
  text: ['character varying', 'character', 'varchar', 'uuid'],
  json: ['jsonb'],
  integer: ['int', 'bigint'],
}

const integers: ReadonlySet<string> = new Set(['bigint', 'integer', 'smallint', 'int'])

export function isInteger(type: string): boolean {
  return integers.has(type)
}

/** Whether the record can use a column as it is. */
export function sameType(column: ColumnSchema, actual: ActualColumn): boolean {
  const expected = toBareType(column)
  // Integers would round a decimal with places.
  if (isInteger(actual.type) && (digitsOf(column.type)?.scale ?? 0) > 0) return false
  // SQLite reports a declared length but does not enforce it.
  const type = actual.type.replace(/ *\(.*\)$/, '')
  if (lacksDigits(column, actual) === 'scale') return false
  return type === expected || (compatibleTypes[expected]?.includes(type) ?? false)
}

/** The names that the catalogue uses. */
const longNames: Readonly<Record<string, string>> = {
  timestamptz: 'timestamp with time zone',
  time: 'time without time zone',
}

/** As the catalogue writes it: without collation and length. */
export function toBareType({ type }: ColumnSchema): string {
  const bare = (type.split(' collate ')[0] ?? type).replace(/\(.*\)$/, '')
  return longNames[bare] ?? bare
}

/** As the catalogue writes it, with the digits of a decimal: where they change the column has to. */
export function toKnownType(column: ColumnSchema): string {
  return digitsOf(column.type) === undefined ? toBareType(column) : column.type
}

/** True for a `datetime` column that an earlier version created as text. */
export function wasTimestamp(column: ColumnSchema, actual: ActualColumn): boolean {
  return toBareType(column) === longNames.timestamptz && actual.type === 'text'
}

/** True for a UUID column that an earlier version created as text. */
export function wasUuid(column: ColumnSchema, actual: ActualColumn | undefined): boolean {
  return toBareType(column) === 'uuid' && actual !== undefined && texts.has(actual.type)
}

const texts: ReadonlySet<string> = new Set(['text', 'character varying', 'character'])

/**
 * @returns the side on which a decimal of the field does not fit: after the point, where the database would round it,
 * or before
 */
export function lacksDigits(
  { type }: ColumnSchema,
  column: ActualColumn,
): 'scale' | 'digits' | undefined {
  const expected = digitsOf(type)
  const actual = digitsOf(column.type)
  if (expected === undefined || actual === undefined) return undefined
  if (actual.scale < expected.scale) return 'scale'
  return actual.precision - actual.scale < expected.precision - expected.scale
    ? 'digits'
    : undefined
}

function digitsOf(type: string): { precision: number; scale: number } | undefined {
  const [, precision, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? []
  return precision === undefined
    ? undefined
    : { precision: Number(precision), scale: Number(scale) }
}
