/** A time of the day without a zone, `10:30:00`. Source: decisions, Validation and fields. */
import type { Kind } from './kind.js'

const timeOfDay = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/

export const time: Kind = {
  storage: 'time',
  compares: 'order',
  graphql: { type: 'String', filter: 'Time' },
  // Not JSON Schema's `time`, which has an offset.
  schema: { type: 'string', pattern: timeOfDay.source },
  label: 'a time such as 10:30:00',
  test: isTime,
  fromText: (text) => (isTime(text) ? text : undefined),
  now: (timestamp) => timestamp.slice(11, 19),
  rules: ['min', 'max', 'oneOf'],
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && value.length === 8 && timeOfDay.test(value)
}
