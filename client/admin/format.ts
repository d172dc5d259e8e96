/** Formats values as text, and parses the text of inputs. */
import type { FieldInfo } from './schema.js'

/** A text that cannot be parsed as a value of its field. */
export class Unreadable {}

/** Parses the text of an input. @returns undefined if the field should be left out of the write */
export function parseText(field: FieldInfo, raw: string, isNew: boolean): unknown {
  const { kind, list, nullable, fields } = field
  if (list === true && fields === undefined && kind !== 'json')
    return raw
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => parseItem(kind, line))
  if (raw === '') {
    if (nullable === true) return isNew && field.default !== undefined ? undefined : null
    const isText = kind === 'string' || kind === 'text'
    if (isText && field.oneOf === undefined && !isNew) return ''
    if (isText && field.required === true && field.oneOf === undefined) return ''
    return isNew ? undefined : null
  }
  return parseItem(fields === undefined ? kind : 'json', raw)
}

function parseItem(kind: string, raw: string): unknown {
  if (kind === 'boolean') return raw === 'true'
  if (kind === 'integer' || kind === 'numeric' || kind === 'float') {
    const value = Number(raw.replace(',', '.'))
    return raw.trim() === '' || Number.isNaN(value) ? raw : value
  }
  if (kind === 'datetime') {
    const date = new Date(raw)
    return Number.isNaN(date.getTime()) ? raw : date.toISOString()
  }
  if (kind === 'json')
    try {
      return JSON.parse(raw) as unknown
    } catch {
      return new Unreadable()
    }
  return raw
}

export function writeText(field: FieldInfo, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (field.kind === 'json' || field.fields !== undefined) return JSON.stringify(value, null, 2)
  if (Array.isArray(value)) return value.map(String).join('\n')
  if (field.kind === 'datetime') return toLocal(asText(value))
  return asText(value)
}

/** Formats a timestamp for an input of type `datetime-local`. */
export function toLocal(value: string): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** `createdAt` → `Created at` */
export function toLabel(name: string): string {
  const text = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/_/g, ' ')
    .toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Lowercases the first letter for the middle of a sentence, except in abbreviations. */
export const lower = (text: string): string =>
  /^[A-Z][^A-Z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text

const integerFormat = new Intl.NumberFormat()
const dateTimeFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'short',
})
const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

export const toCount = (count: number): string => integerFormat.format(count)

/** `1 ticket`, `3 tickets` */
export const withCount = (count: number, { one, label }: { one: string; label: string }): string =>
  `${toCount(count)} ${lower(count === 1 ? one : label)}`

export function toDateTime(value: unknown): string {
  const date = new Date(asText(value))
  return Number.isNaN(date.getTime()) ? asText(value) : dateTimeFormat.format(date)
}

/** Formats a value for lists and histories. */
export function toText(value: unknown, kind = ''): string {
  if (value === null || value === undefined || value === '') return '–'
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (kind === 'datetime') return toDateTime(value)
  if (kind === 'date') {
    const date = new Date(asText(value))
    return Number.isNaN(date.getTime()) ? asText(value) : dateFormat.format(date)
  }
  if (kind === 'blob') return toSize(asText(value))
  if (typeof value === 'object' && !Array.isArray(value) && kind !== 'json')
    return Object.entries(value)
      .map(([name, part]) => `${toLabel(name)}: ${toText(part)}`)
      .join(', ')
  if (Array.isArray(value)) return value.map((item) => toText(item)).join(', ') || '–'
  return asText(value)
}

/** The size of a file in base64. */
export function toSize(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
  return bytes < 1024 ? `${bytes} bytes` : `${toCount(Math.round(bytes / 1024))} KB`
}

/** Returns strings unchanged and other values as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)
