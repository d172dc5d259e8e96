/** A calendar day, `2026-11-20`. Source: decisions, Validation and fields. */
import { isDate, toTimestamp } from './datetime.js'
import type { Kind } from './kind.js'

export const date: Kind = {
  storage: 'date',
  compares: 'order',
  graphql: { type: 'String', filter: 'Date' },
  schema: { type: 'string', format: 'date' },
  label: 'a date such as 2026-11-20',
  test: isDate,
  // The day in UTC, as databases' drivers and `new Date('2026-11-20')` mean it.
  toOutput: (value) => (value instanceof Date ? toTimestamp(value)?.slice(0, 10) : value),
  fromText: (text) => (isDate(text) ? text : undefined),
  now: (timestamp) => timestamp.slice(0, 10),
  rules: ['min', 'max', 'oneOf'],
}
