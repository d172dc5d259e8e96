/** A record's key: an integer given by the database, or with `{ key: 'uuid' }` a UUID. Source: public face, Records. */
import { integer } from './integer.js'
import type { Kind } from './kind.js'

export const id: Kind = {
  ...integer,
  graphql: { type: 'ID', filter: 'ID' },
  label: 'an integer id',
  rules: ['min', 'max'],
  refine: ({ key }) => (key === 'uuid' ? uuidKey : id),
}

/** What `@Field('id', { key: 'uuid' })` is. */
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

/** True for the 8-4-4-4-12 form of RFC 9562, any version, any case. */
export function isUuid(value: unknown): boolean {
  return typeof value === 'string' && value.length === 36 && uuidPattern.test(value)
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
