/** Formats values as text. */
import { isSingular, locale, translate, withDecimalSign } from './translate.js'

/** Returns strings unchanged and other values as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** `createdAt` → `Created at` */
export function toLabel(name: string): string {
  const text = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/_/g, ' ')
    .toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const dateTimeFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const dateFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })

/** `1 ticket`, `3 tickets` */
export const withCount = (count: number, { one, label }: { one: string; label: string }): string =>
  translate('rows', { count, name: isSingular(count) ? one : label })

export function toDateTime(value: unknown): string {
  const date = new Date(asText(value))
  return Number.isNaN(date.getTime()) ? asText(value) : dateTimeFormat.format(date)
}

function toDate(value: unknown): string {
  const date = new Date(asText(value))
  return Number.isNaN(date.getTime()) ? asText(value) : dateFormat.format(date)
}

/** Lists the members of a nested object by their labels. */
const toMembers = (value: unknown): string =>
  typeof value === 'object'
    ? Object.entries(value as object)
        .map(([name, part]) => `${toLabel(name)}: ${toText(part)}`)
        .join(', ')
    : asText(value)

/** Shows the decimal sign of the language. Digits stay as they are stored, so that `12.50` has two places. */
const toDecimal = (value: unknown): string => withDecimalSign(asText(value))

const formats = {
  text: toMembers,
  decimal: toDecimal,
  json: asText,
  date: toDate,
  datetime: toDateTime,
  size: (value: unknown) => toSize(asText(value)),
} as const

/** The formats that the schema names. */
export type ValueFormat = keyof typeof formats

/** Formats a value for lists and histories. */
export function toText(value: unknown, format: ValueFormat = 'text'): string {
  if (value === null || value === undefined || value === '') return '–'
  if (value === true || value === false) return translate(value ? 'yes' : 'no')
  if (Array.isArray(value)) return value.map((item) => toText(item, format)).join(', ') || '–'
  return formats[format](value)
}

/** The size of a file in base64. */
export function toSize(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
  return bytes < 1024
    ? translate('bytes', { count: bytes })
    : translate('kilobytes', { count: Math.round(bytes / 1024) })
}
