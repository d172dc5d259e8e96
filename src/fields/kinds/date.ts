/** A calendar day, `2026-11-20`. Source: decisions, Second storey: records, Kinds. */
import { isDate } from './datetime.js'
import type { Kind } from './kind.js'

export const date: Kind = {
  storage: 'date',
  compares: 'order',
  graphql: { type: 'String', filter: 'Date' },
  schema: { type: 'string', format: 'date' },
  noun: 'a date such as 2026-11-20',
  test: isDate,
  fromText: (text) => (isDate(text) ? text : undefined),
  now: (moment) => moment.slice(0, 10),
  rules: ['min', 'max', 'oneOf'],
}
