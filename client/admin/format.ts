import type { FieldInfo } from './schema.js'

/** Values of fields as texts of boxes, and back. */

/** What is typed for a value and is none. */
export class Unreadable {}

/** @returns undefined for what is left out */
export function readText(field: FieldInfo, raw: string, isNew: boolean): unknown {
  const { kind, list, nullable, fields } = field
  if (list === true && fields === undefined && kind !== 'json')
    return raw
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => readOne(kind, line))
  if (raw === '') {
    if (nullable === true) return isNew && field.default !== undefined ? undefined : null
    const isText = kind === 'string' || kind === 'text'
    if (isText && field.oneOf === undefined && !isNew) return ''
    if (isText && field.required === true && field.oneOf === undefined) return ''
    return isNew ? undefined : null
  }
  return readOne(fields === undefined ? kind : 'json', raw)
}

function readOne(kind: string, raw: string): unknown {
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

/** As the browser's control for moments has it. */
export function toLocal(value: string): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** Words and numbers as people read them. */

/** `createdAt` → `Created at` */
export function toWords(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/_/g, ' ')
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** For the middle of a sentence; what is written in capitals stays. */
export const lower = (words: string): string =>
  /^[A-Z][^A-Z]/.test(words) ? words.charAt(0).toLowerCase() + words.slice(1) : words

const whole = new Intl.NumberFormat()
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

export const toCount = (count: number): string => whole.format(count)

/** `1 ticket`, `3 tickets` */
export const counted = (count: number, { one, label }: { one: string; label: string }): string =>
  `${toCount(count)} ${lower(count === 1 ? one : label)}`

export function toMoment(value: unknown): string {
  const date = new Date(asText(value))
  return Number.isNaN(date.getTime()) ? asText(value) : moment.format(date)
}

/** A value as lists and histories show it. */
export function toText(value: unknown, kind = ''): string {
  if (value === null || value === undefined || value === '') return '–'
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (kind === 'datetime') return toMoment(value)
  if (kind === 'date') {
    const date = new Date(asText(value))
    return Number.isNaN(date.getTime()) ? asText(value) : day.format(date)
  }
  if (kind === 'blob') return toSize(asText(value))
  if (typeof value === 'object' && !Array.isArray(value) && kind !== 'json')
    return Object.entries(value)
      .map(([name, part]) => `${toWords(name)}: ${toText(part)}`)
      .join(', ')
  if (Array.isArray(value)) return value.map((item) => toText(item)).join(', ') || '–'
  return asText(value)
}

/** The size of a file in base64. */
export function toSize(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
  return bytes < 1024 ? `${bytes} bytes` : `${toCount(Math.round(bytes / 1024))} KB`
}

/** A plain value as it is written; lists and objects as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)
