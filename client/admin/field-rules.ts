/** Validates fields with the same rules and messages as the server. A test compares both. */
import { valueTypes } from './field-values.js'
import type { ControlError } from './control.js'
import type { FieldInfo, KindInfo } from './schema.js'

const withUnit = (count: number, unit: string): string =>
  `${count} ${unit}${count === 1 ? '' : 's'}`

/** @returns undefined if the value is valid */
export function findFieldError(
  field: FieldInfo,
  value: unknown,
  isNew: boolean,
): ControlError | undefined {
  const error = (code: string, message: string): ControlError => toFieldError(field, code, message)
  if (value === undefined)
    return isNew && field.required ? error('required', 'is required') : undefined
  if (value === null) return field.nullable ? undefined : error('type', 'must not be null')
  if (field.list === true) {
    const items = Array.isArray(value) ? (value as unknown[]) : []
    return items.map((item) => findValueError(field, item)).find((found) => found !== undefined)
  }
  if (value === '' && isNew && field.required === true && field.minLength === undefined)
    return error('required', 'is required')
  return findValueError(field, value)
}

/** The error of a rule, in the application's words if it has any. @param message follows the label */
export function toFieldError(field: FieldInfo, code: string, message: string): ControlError {
  const ownMessage = field.messages?.[code]
  return ownMessage === undefined
    ? { path: '', message }
    : { path: '', message: ownMessage, isComplete: true }
}

function findValueError(field: FieldInfo, value: unknown): ControlError | undefined {
  const { kind, min, max, minLength, maxLength, pattern, oneOf } = field
  const error = (code: string, message: string): ControlError => toFieldError(field, code, message)
  if (!isOfKind(kind, value)) return error('type', `must be ${kind.label}`)
  const [size, unit] = sizeOf(kind, value)
  const compare = comparisons[kind.comparison]
  if (min !== undefined && compare(value, min) < 0) return error('min', `must be at least ${min}`)
  if (max !== undefined && compare(value, max) > 0) return error('max', `must be at most ${max}`)
  if (minLength !== undefined && size < minLength)
    return error('minLength', `must have at least ${withUnit(minLength, unit)}`)
  if (maxLength !== undefined && size > maxLength)
    return error('maxLength', `must have at most ${withUnit(maxLength, unit)}`)
  if (pattern !== undefined && !matches(pattern, value))
    return error('pattern', `must match ${pattern}`)
  if (oneOf !== undefined && !oneOf.includes(value as string))
    return error('oneOf', `must be one of ${oneOf.join(', ')}`)
  return undefined
}

const isOfKind = ({ type, pattern }: KindInfo, value: unknown): boolean =>
  valueTypes[type].isValid(value) && (pattern === undefined || matches(pattern, value))

const sizeOf = ({ measure }: KindInfo, value: unknown): [size: number, unit: string] =>
  measure === 'bytes'
    ? [bytesOf(String(value)), 'byte']
    : [Array.from(String(value)).length, 'character']

const comparisons: Readonly<
  Record<KindInfo['comparison'], (value: unknown, bound: unknown) => number>
> = {
  number: (value, bound) => Number(value) - Number(bound),
  time: (value, bound) => Date.parse(String(value)) - Date.parse(String(bound)),
  text: (value, bound) => {
    const [one, other] = [String(value), String(bound)]
    return one < other ? -1 : one > other ? 1 : 0
  },
}

/** Patterns have no flags, and may use syntax that this browser does not support. Then only the server checks them. */
function matches(pattern: string, value: unknown): boolean {
  try {
    return typeof value !== 'string' || new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
