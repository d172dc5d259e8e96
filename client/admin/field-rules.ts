/** The rules of fields in the server's own words, so that most faults need no request. A test compares them with the server's. */
import type { FieldInfo } from './schema.js'

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const nouns: Readonly<Record<string, string>> = {
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

const forms: Readonly<Record<string, RegExp>> = {
  bigint: /^-?\d+$/,
  decimal: /^-?(?:\d+(?:\.\d*)?|\.\d+)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/,
  uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
}

/** Follows the field's name: `must be an integer`; undefined where the value keeps all rules that are known here. */
export function findFault(field: FieldInfo, value: unknown, isNew: boolean): string | undefined {
  if (value === undefined) return isNew && field.required ? 'is required' : undefined
  if (value === null) return field.nullable ? undefined : 'must not be null'
  if (field.list === true) {
    const items = Array.isArray(value) ? (value as unknown[]) : []
    return items.map((item) => findValueFault(field, item)).find((fault) => fault !== undefined)
  }
  if (value === '' && isNew && field.required === true && field.minLength === undefined)
    return 'is required'
  return findValueFault(field, value)
}

function findValueFault(field: FieldInfo, value: unknown): string | undefined {
  const { kind, min, max, minLength, maxLength, pattern, oneOf } = field
  if (!fits(kind, value))
    return `must be ${kind === 'decimal' ? 'a decimal number as text' : (nouns[kind] ?? 'another value')}`
  const size = kind === 'blob' ? bytesOf(String(value)) : Array.from(String(value)).length
  const unit = kind === 'blob' ? 'byte' : 'character'
  if (min !== undefined && compare(kind, value, min) < 0) return `must be at least ${min}`
  if (max !== undefined && compare(kind, value, max) > 0) return `must be at most ${max}`
  if (minLength !== undefined && size < minLength)
    return `must have at least ${counted(minLength, unit)}`
  if (maxLength !== undefined && size > maxLength)
    return `must have at most ${counted(maxLength, unit)}`
  if (pattern !== undefined && typeof value === 'string' && !matches(pattern, value))
    return `must match ${pattern}`
  if (oneOf !== undefined && !oneOf.includes(value as string))
    return `must be one of ${oneOf.join(', ')}`
  return undefined
}

function fits(kind: string, value: unknown): boolean {
  if (kind === 'integer' || kind === 'id')
    return (
      Number.isSafeInteger(value) || (typeof value === 'string' && forms.uuid?.test(value) === true)
    )
  if (kind === 'numeric') return typeof value === 'number' && Number.isFinite(value)
  if (kind === 'datetime') return !Number.isNaN(Date.parse(String(value)))
  const form = forms[kind]
  return form === undefined || form.test(String(value))
}

function compare(kind: string, value: unknown, bound: number | string): number {
  if (kind === 'datetime') return Date.parse(String(value)) - Date.parse(String(bound))
  if (typeof value === 'number') return value - Number(bound)
  if (kind === 'decimal' || kind === 'bigint') return Number(value) - Number(bound)
  const [one, other] = [String(value), String(bound)]
  return one < other ? -1 : one > other ? 1 : 0
}

/** Patterns come without their flags, and may be of the server's engine: what cannot be read here is the server's to say. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
