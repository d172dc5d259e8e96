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
