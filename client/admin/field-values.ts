/** Converts between the texts of inputs and the values of fields. */
import { controlTypes } from './control-types.js'
import { asText, toText } from './format.js'
import type { FieldInfo, KindInfo } from './schema.js'
import { withDecimalSign, withPoint } from './translate.js'

/** A text that cannot be parsed as a value of its field. */
export class Unreadable {}

interface ValueType {
  /** Parses a text that is not empty. Other texts than values are returned unchanged, for the check. */
  readonly parse: (raw: string) => unknown
  readonly toInputText: (value: unknown) => string
  readonly isValid: (value: unknown) => boolean
  /** Whether a list is written as one text, and not with one item per line. */
  readonly hasListText?: true
}

const text: ValueType = {
  parse: (raw) => raw,
  toInputText: asText,
  isValid: (value) => typeof value === 'string',
}

const number: ValueType = {
  parse: (raw) => {
    const value = Number(raw.replace(',', '.'))
    return raw.trim() === '' || Number.isNaN(value) ? raw : value
  },
  toInputText: asText,
  isValid: Number.isFinite,
}

/** By the type that the schema names. */
export const valueTypes: Readonly<Record<KindInfo['type'], ValueType>> = {
  text,
  number,
  integer: { ...number, isValid: Number.isSafeInteger },
  boolean: {
    parse: (raw) => raw === 'true',
    toInputText: String,
    isValid: (value) => value === true || value === false,
  },
  timestamp: {
    ...text,
    parse: (raw) => {
      const date = new Date(raw)
      return Number.isNaN(date.getTime()) ? raw : date.toISOString()
    },
    toInputText: (value) => toLocal(asText(value)),
  },
  json: {
    parse: (raw) => {
      try {
        return JSON.parse(raw) as unknown
      } catch {
        return new Unreadable()
      }
    },
    toInputText: (value) => JSON.stringify(value, null, 2),
    isValid: () => true,
    hasListText: true,
  },
}

export const hasLines = ({ list, kind }: FieldInfo): boolean =>
  list === true && valueTypes[kind.type].hasListText !== true

/** Formats a value for people: the labels of choices, other values by the format of their kind. */
export function toFieldText(field: FieldInfo | undefined, value: unknown): string {
  const labels = field?.labels
  if (labels === undefined) return toText(value, field?.kind.format)
  const labelOfChoice = (item: unknown): unknown => labels[String(item)] ?? item
  return toText(
    Array.isArray(value) ? value.map(labelOfChoice) : labelOfChoice(value),
    field?.kind.format,
  )
}

/** Parses the text of an input. @returns undefined if the field should be left out of the write */
export function parseInput(field: FieldInfo, raw: string, isNew: boolean): unknown {
  const { kind, nullable, oneOf } = field
  const parse = (text: string): unknown => parseText(field, text)
  if (hasLines(field))
    return raw
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map(parse)
  if (raw !== '') return parse(raw)
  if (nullable === true) return isNew && field.default !== undefined ? undefined : null
  if (kind.isFreeText && oneOf === undefined && (!isNew || field.required === true)) return ''
  return isNew ? undefined : null
}

/** Parses a text that is not empty. */
export function parseText({ kind }: FieldInfo, text: string): unknown {
  const isDecimal = controlTypes[kind.control].isDecimal === true
  return valueTypes[kind.type].parse(isDecimal ? withPoint(text) : text)
}

/** The text of an input for a value. */
export function toInputText(field: FieldInfo, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (hasLines(field) && Array.isArray(value))
    return value.map((item) => toItemText(field, item)).join('\n')
  return toItemText(field, value)
}

function toItemText({ kind }: FieldInfo, value: unknown): string {
  const text = valueTypes[kind.type].toInputText(value)
  return controlTypes[kind.control].isDecimal === true ? withDecimalSign(text) : text
}

/** Formats a timestamp for an input of type `datetime-local`. */
function toLocal(value: string): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
