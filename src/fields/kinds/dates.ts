/** The kinds `datetime`, `date` and `time`. Sources: decisions, Validation and fields; RFC 3339 §5.6. */
import type { Kind } from './kind.js'

const timeOfDay = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/

/** A time of day without a zone: `10:30:00`. */
export const time: Kind = {
  storage: 'time',
  compares: 'order',
  graphql: { type: 'String', filter: 'Time' },
  // Not the format `time` of JSON Schema, which requires an offset.
  schema: { type: 'string', pattern: timeOfDay.source },
  label: 'a time such as 10:30:00',
  test: isTime,
  fromText: (text) => (isTime(text) ? text : undefined),
  now: (timestamp) => timestamp.slice(11, 19),
  rules: ['min', 'max', 'oneOf'],
  presentation: { control: 'time' },
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && value.length === 8 && timeOfDay.test(value)
}

/** A calendar day, `2026-11-20`. */
export const date: Kind = {
  storage: 'date',
  compares: 'order',
  graphql: { type: 'String', filter: 'Date' },
  schema: { type: 'string', format: 'date' },
  label: 'a date such as 2026-11-20',
  test: isDate,
  // The day in UTC, as in drivers of databases and in `new Date('2026-11-20')`.
  toOutput: (value) => (value instanceof Date ? toTimestamp(value)?.slice(0, 10) : value),
  fromText: (text) => (isDate(text) ? text : undefined),
  now: (timestamp) => timestamp.slice(0, 10),
  rules: ['min', 'max', 'oneOf'],
  presentation: { control: 'date', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
}

const iso =
  /^(((?!0000)\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]))(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?:(:[0-5]\d)(\.\d{1,9})?)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** The accepted form: RFC 3339 with optional time, seconds and offset. It does not check that the day exists. */
export const timestampPattern = iso.source

/** A point in time, written as ISO 8601. */
export const datetime: Kind = {
  storage: 'timestamp',
  compares: 'order',
  graphql: { type: 'String', filter: 'DateTime' },
  // Not the format `date-time` of JSON Schema, which requires seconds and an offset.
  schema: { type: 'string', maxLength: 40, pattern: timestampPattern },
  label: 'an ISO 8601 date and time',
  test: (value) => toTimestamp(value) !== undefined,
  // A Date of the program becomes text. Text stays as it was sent; `encode` converts it to UTC.
  read: "typeof v === 'string' ? v : v.toISOString()",
  fromText: (text) => (toTimestamp(text) === undefined ? undefined : text),
  // A plus in an address means a space.
  hint: (text) => (/\d \d\d:?\d\d$/.test(text) ? 'write "+" as %2B in an address' : undefined),
  encode: toTimestamp,
  toOutput: (value) => (isCanonical(value) ? value : (toTimestamp(value) ?? value)),
  comparable: toTimestamp,
  now: (timestamp) => timestamp,
  rules: ['min', 'max'],
  presentation: { type: 'timestamp' },
}

/**
 * Converts a timestamp to the form in which it is stored and compared: `2026-11-20T10:00:00.000Z`.
 *
 * @param value a valid Date, or ISO 8601 text such as `2026-11-20` or `2026-11-20T12:00+02:00`. Without an offset it is in
 * UTC
 * @returns `undefined` for anything else, such as an impossible day, hour 24, or a year outside 0001–9999, which not every
 * database supports
 */
export function toTimestamp(value: unknown): string | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : inRange(value)
  if (typeof value !== 'string' || value.length > 40) return undefined
  const parts = iso.exec(value)
  if (parts === null || !isDay(parts)) return undefined
  const [, date = '', , , , time = '00:00', seconds = ':00', fraction = '', offset = 'Z'] = parts
  const zone = offset === 'z' ? 'Z' : offset
  return inRange(new Date(`${date}T${time}${seconds}${fraction.slice(0, 4)}${zone}`))
}

/** Whether the value has the stored form, as most values do. */
function isCanonical(value: unknown): boolean {
  return typeof value === 'string' && value.length === 24 && value.endsWith('Z')
}

/** Whether the value is a calendar day without a time: `2026-11-20`. */
export function isDate(value: unknown): boolean {
  return typeof value === 'string' && value.length === 10 && toTimestamp(value) !== undefined
}

function isDay([, , year, month, day]: readonly (string | undefined)[]): boolean {
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

function inRange(date: Date): string | undefined {
  if (Number.isNaN(date.getTime())) return undefined
  const text = date.toISOString()
  return text.length === 24 && !text.startsWith('0000') ? text : undefined
}
