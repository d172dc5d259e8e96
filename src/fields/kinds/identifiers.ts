/** The kinds `id` and `uuid`. Source: public API, Records. */
import type { Kind } from './kind.js'
import { integer } from './numbers.js'

/** A UUID, stored and sent in lower case. For keys use `id` with `{ key: 'uuid' }`. */
export const uuid: Kind = {
  storage: 'text',
  compares: 'order',
  graphql: { type: 'String', filter: 'UUID' },
  schema: { type: 'string', format: 'uuid', maxLength: 36 },
  label: 'a UUID',
  test: isUuid,
  read: toLowerCase,
  encode: toLowerCase,
  toOutput: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  fromText: (text) => (isUuid(text) ? text : undefined),
  comparable: toLowerCase,
  spellings: (text) =>
    text.toLowerCase().replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`),
  rules: ['oneOf'],
}

function toLowerCase(value: unknown): string {
  return (value as string).toLowerCase()
}

/** The key of a record: an integer that the database generates, or with `{ key: 'uuid' }` a UUID. */
export const id: Kind = {
  ...integer,
  graphql: { type: 'ID', filter: 'ID' },
  label: 'an integer id',
  rules: ['min', 'max'],
  refine: ({ key }) => (key === 'uuid' ? uuidKey : id),
}

/** The kind of `@Field('id', { key: 'uuid' })`. */
const uuidKey: Kind = {
  storage: 'text',
  compares: 'order',
  graphql: { type: 'ID', filter: 'ID' },
  schema: { type: 'string', format: 'uuid', maxLength: 36 },
  label: 'a UUID',
  test: isUuid,
  encode: (value) => (value as string).toLowerCase(),
  toOutput: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  fromText: (text) => (isUuid(text) ? text : undefined),
  rules: [],
}

/** True for the 8-4-4-4-12 form of RFC 9562, in any version and case. */
export function isUuid(value: unknown): boolean {
  return typeof value === 'string' && value.length === 36 && uuidPattern.test(value)
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
