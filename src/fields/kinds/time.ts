/** A time of the day without a zone, `10:30:00`. Source: decisions, Second storey: records, Kinds. */
import type { Kind } from './kind.js'

const form = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/

export const time: Kind = {
  storage: 'time',
  compares: 'order',
  graphql: { type: 'String', filter: 'Time' },
  // Not JSON Schema's `time`, which has an offset.
  schema: { type: 'string', pattern: form.source },
  noun: 'a time such as 10:30:00',
  test: isTime,
  fromText: (text) => (isTime(text) ? text : undefined),
  now: (moment) => moment.slice(11, 19),
  rules: ['min', 'max', 'oneOf'],
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && value.length === 8 && form.test(value)
}
