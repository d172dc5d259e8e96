/** Validates fields with the same rules and messages as the server. A test compares both. */
import { valueTypes } from './field-values.js'
import type { ControlError } from './control.js'
import { texts } from './language.js'
import type { FieldInfo, KindInfo } from './schema.js'
import { translate } from './translate.js'

/** @returns undefined if the value is valid */
export function findFieldError(
  field: FieldInfo,
  value: unknown,
  isNew: boolean,
): ControlError | undefined {
  const error = (code: string, message: string): ControlError => toFieldError(field, code, message)
  if (value === undefined)
    return isNew && field.required ? error('required', translate('required')) : undefined
  if (value === null) return field.nullable ? undefined : error('type', translate('notNull'))
  if (field.list === true) {
    const items = Array.isArray(value) ? (value as unknown[]) : []
    return items.map((item) => findValueError(field, item)).find((found) => found !== undefined)
  }
  if (value === '' && isNew && field.required === true && field.minLength === undefined)
    return error('required', translate('required'))
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
  const error = (code: string): ControlError =>
    toFieldError(field, code, ruleText(field, code) ?? '')
  if (!isOfKind(kind, value)) return toFieldError(field, 'type', mustBe(kind))
  const size = sizeOf(kind, value)
  const compare = comparisons[kind.comparison]
  if (min !== undefined && compare(value, min) < 0) return error('min')
  if (max !== undefined && compare(value, max) > 0) return error('max')
  if (minLength !== undefined && size < minLength) return error('minLength')
  if (maxLength !== undefined && size > maxLength) return error('maxLength')
  if (pattern !== undefined && !matches(pattern, value)) return error('pattern')
  if (oneOf !== undefined && !oneOf.includes(value as string)) return error('oneOf')
  return undefined
}

/** What a rule of the field says, after the label: `must be at least 3`. @returns undefined for a rule that it does not have */
export function ruleText(field: FieldInfo, code: string): string | undefined {
  const { kind, list, min, max, minLength, maxLength, pattern, oneOf } = field
  const isBytes = kind.measure === 'bytes'
  if (code === 'required') return translate('required')
  if (code === 'type' && list !== true) return mustBe(kind)
  if (code === 'min' && min !== undefined) return translate('atLeast', { limit: String(min) })
  if (code === 'max' && max !== undefined) return translate('atMost', { limit: String(max) })
  if (code === 'minLength' && minLength !== undefined)
    return translate(isBytes ? 'leastBytes' : 'leastCharacters', { count: minLength })
  if (code === 'maxLength' && maxLength !== undefined)
    return translate(isBytes ? 'mostBytes' : 'mostCharacters', { count: maxLength })
  if (code === 'pattern' && pattern !== undefined) return translate('mustMatch', { pattern })
  if (code === 'oneOf' && oneOf !== undefined)
    return translate('mustBeOneOf', { values: oneOf.join(', ') })
  return undefined
}

const isOfKind = ({ type, pattern }: KindInfo, value: unknown): boolean =>
  valueTypes[type].isValid(value) && (pattern === undefined || matches(pattern, value))

/** Says what a value of a kind must be: `must be an integer`. */
export const mustBe = ({ control, label }: KindInfo): string =>
  translate('mustBe', { kind: texts.kinds?.[control] ?? label })

const sizeOf = ({ measure }: KindInfo, value: unknown): number =>
  measure === 'bytes' ? bytesOf(String(value)) : Array.from(String(value)).length

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
