/** Validates fields with the same rules and messages as the server. A test compares both. */
import type { FieldInfo } from './schema.js'

const withUnit = (count: number, unit: string): string =>
  `${count} ${unit}${count === 1 ? '' : 's'}`

const expectedByKind: Readonly<Record<string, string>> = {
  integer: 'an integer',
  numeric: 'a number',
  bigint: 'a whole number of 64 bits as text',
  datetime: 'an ISO 8601 date and time',
  date: 'a date such as 2026-11-20',
  time: 'a time such as 10:30:00',
  uuid: 'a UUID',
  id: 'an integer id',
  json: 'a JSON value, at most 64 levels deep',
}

const patternByKind: Readonly<Record<string, RegExp>> = {
  bigint: /^-?\d+$/,
  decimal: /^-?(?:\d+(?:\.\d*)?|\.\d+)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/,
  uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
}

/** @returns a text that follows the field's name, such as `must be an integer`, or undefined if the value is valid */
export function findFieldError(
  field: FieldInfo,
  value: unknown,
  isNew: boolean,
): string | undefined {
  if (value === undefined) return isNew && field.required ? 'is required' : undefined
  if (value === null) return field.nullable ? undefined : 'must not be null'
  if (field.list === true) {
    const items = Array.isArray(value) ? (value as unknown[]) : []
    return items.map((item) => findValueError(field, item)).find((error) => error !== undefined)
  }
  if (value === '' && isNew && field.required === true && field.minLength === undefined)
    return 'is required'
  return findValueError(field, value)
}

function findValueError(field: FieldInfo, value: unknown): string | undefined {
  const { kind, min, max, minLength, maxLength, pattern, oneOf } = field
  if (!hasKind(kind, value))
    return `must be ${kind === 'decimal' ? 'a decimal number as text' : (expectedByKind[kind] ?? 'another value')}`
  const size = kind === 'blob' ? bytesOf(String(value)) : Array.from(String(value)).length
  const unit = kind === 'blob' ? 'byte' : 'character'
  if (min !== undefined && compare(kind, value, min) < 0) return `must be at least ${min}`
  if (max !== undefined && compare(kind, value, max) > 0) return `must be at most ${max}`
  if (minLength !== undefined && size < minLength)
    return `must have at least ${withUnit(minLength, unit)}`
  if (maxLength !== undefined && size > maxLength)
    return `must have at most ${withUnit(maxLength, unit)}`
  if (pattern !== undefined && typeof value === 'string' && !matches(pattern, value))
    return `must match ${pattern}`
  if (oneOf !== undefined && !oneOf.includes(value as string))
    return `must be one of ${oneOf.join(', ')}`
  return undefined
}

function hasKind(kind: string, value: unknown): boolean {
  if (kind === 'integer' || kind === 'id')
    return (
      Number.isSafeInteger(value) ||
      (typeof value === 'string' && patternByKind.uuid?.test(value) === true)
    )
  if (kind === 'numeric') return typeof value === 'number' && Number.isFinite(value)
  if (kind === 'datetime') return !Number.isNaN(Date.parse(String(value)))
  const pattern = patternByKind[kind]
  return pattern === undefined || pattern.test(String(value))
}

function compare(kind: string, value: unknown, bound: number | string): number {
  if (kind === 'datetime') return Date.parse(String(value)) - Date.parse(String(bound))
  if (typeof value === 'number') return value - Number(bound)
  if (kind === 'decimal' || kind === 'bigint') return Number(value) - Number(bound)
  const [one, other] = [String(value), String(bound)]
  return one < other ? -1 : one > other ? 1 : 0
}

/** Patterns have no flags, and may use syntax that this browser does not support. Then only the server checks them. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
