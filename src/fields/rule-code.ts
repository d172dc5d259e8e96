/** Writes the rules of `@Field` as code over a value `v` of the field's kind. Source: public API, Records. */
import { normalizeText } from '../core/text.js'
import type { FunctionSet } from './function-set.js'
import { formats } from './formats.js'
import type { Kind, TextForm } from './kinds/kind.js'
import { hasTextForm, textForms, toProperty } from './kinds/table.js'
import type { ShapeField } from './shape.js'

/** The code of one rule. */
export interface RuleCode {
  readonly code: string
  /** Completes "price …": `must be at least 0`. */
  readonly text: string
  /** The value of the rule in the declaration. */
  readonly value: unknown
  /** An expression that is true if the value violates the rule. */
  readonly isBroken: string
}

/** Writes the rules of a field, in the order of the documentation. */
export function writeRules(field: ShapeField, functions: FunctionSet): RuleCode[] {
  const rules = field.declared ?? {}
  const codes: RuleCode[] = []
  if (rules.min !== undefined) codes.push(writeBound('min', rules.min, field.entry, functions))
  if (rules.max !== undefined) codes.push(writeBound('max', rules.max, field.entry, functions))
  const length = field.entry.measure === 'bytes' ? byteCount : characterCount
  if (rules.minLength !== undefined) codes.push(length.min(rules.minLength, functions))
  if (rules.maxLength !== undefined) codes.push(length.max(rules.maxLength, functions))
  if (rules.pattern !== undefined)
    codes.push(writePattern(rules.pattern, rules.maxLength, functions))
  if (rules.format !== undefined) {
    const { label, test } = formats[rules.format]
    codes.push({
      code: 'format',
      text: `must be ${label}`,
      value: rules.format,
      isBroken: `!${functions.constant(test)}(v)`,
    })
  }
  if (rules.oneOf !== undefined) {
    const values = rules.oneOf.map((value) => toComparable(value, field.entry))
    const allowed = functions.constant(new Set(values))
    const text = `must be one of ${rules.oneOf.join(', ')}`
    codes.push({
      code: 'oneOf',
      text,
      value: rules.oneOf,
      isBroken: `!${allowed}.has(${writeComparable(field.entry, functions)})`,
    })
  }
  return codes
}

/** An expression that changes a text `v` before its rules are checked; `undefined` if nothing changes it. */
export function writeTextForm(
  { declared = {} }: ShapeField,
  functions: FunctionSet,
): string | undefined {
  const forms = textForms.filter((form) => hasTextForm(declared, form))
  if (forms.length === 0) return undefined
  return forms.reduce((code, form) => formCode[form](code, functions), 'v')
}

const formCode: Readonly<Record<TextForm, (code: string, functions: FunctionSet) => string>> = {
  collapse: (code) => `${code}.replace(/\\s+/g, ' ')`,
  trim: (code) => `${code}.trim()`,
  lowercase: (code) => `${code}.toLowerCase()`,
  uppercase: (code) => `${code}.toUpperCase()`,
  normalize: (code, functions) => `${functions.constant(toNfc)}(${code})`,
}

function toNfc(text: string): string {
  return normalizeText(text, 'NFC')
}

function writeBound(
  code: 'min' | 'max',
  bound: number | string,
  entry: Kind,
  functions: FunctionSet,
): RuleCode {
  const text = `must be at ${code === 'min' ? 'least' : 'most'} ${bound}`
  const sign = code === 'min' ? '<' : '>'
  const limit = toComparable(bound, entry)
  const written = typeof limit === 'number' ? String(limit) : functions.constant(limit)
  return {
    code,
    text,
    value: bound,
    isBroken: `${writeComparable(entry, functions)} ${sign} ${written}`,
  }
}

/** Converts a rule's value to the form in which it is compared. */
export function toComparable(value: unknown, entry: Kind): unknown {
  const property = toProperty(value, entry)
  return entry.comparable === undefined ? property : entry.comparable(property)
}

function writeComparable({ comparable }: Kind, functions: FunctionSet): string {
  return comparable === undefined ? 'v' : `${functions.constant(comparable)}(v)`
}

const characterCount = {
  min: (min: number, functions: FunctionSet): RuleCode => ({
    code: 'minLength',
    text: `must have at least ${withUnit(min, 'character')}`,
    value: min,
    // A character has one or two units, so most texts need no counting.
    isBroken: `v.length < ${2 * min} && (v.length < ${min} || ${functions.constant(countCharacters)}(v) < ${min})`,
  }),
  max: (max: number, functions: FunctionSet): RuleCode => ({
    code: 'maxLength',
    text: `must have at most ${withUnit(max, 'character')}`,
    value: max,
    isBroken: `v.length > ${max} && (v.length > ${2 * max} || ${functions.constant(countCharacters)}(v) > ${max})`,
  }),
}

const byteCount = {
  min: (min: number, functions: FunctionSet): RuleCode => ({
    code: 'minLength',
    text: `must have at least ${withUnit(min, 'byte')}`,
    value: min,
    isBroken: `${functions.constant(countBytes)}(v) < ${min}`,
  }),
  max: (max: number, functions: FunctionSet): RuleCode => ({
    code: 'maxLength',
    text: `must have at most ${withUnit(max, 'byte')}`,
    value: max,
    isBroken: `${functions.constant(countBytes)}(v) > ${max}`,
  }),
}

function writePattern(
  pattern: RegExp | string,
  maxLength: number | undefined,
  functions: FunctionSet,
): RuleCode {
  // Without `g` and `y`, because such expressions remember the last match.
  const flags = pattern instanceof RegExp ? pattern.flags.replace(/[gy]/g, '') : ''
  const expression = new RegExp(pattern, flags)
  return {
    code: 'pattern',
    text: `must match ${expression.source}`,
    value: expression.source,
    // A text that is too long is reported already, and must not run a slow pattern. A character may have two units.
    isBroken: `${maxLength === undefined ? '' : `v.length <= ${2 * maxLength} && `}!${functions.constant(expression)}.test(v)`,
  }
}

function withUnit(count: number, label: string): string {
  return `${count} ${label}${count === 1 ? '' : 's'}`
}

function countCharacters(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length - 1; index++) {
    if ((text.charCodeAt(index) & 0xfc00) !== 0xd800) continue
    if ((text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) count--
  }
  return count
}

function countBytes(value: unknown): number {
  if (value instanceof Uint8Array) return value.byteLength
  return Buffer.byteLength(value as string, 'base64')
}
