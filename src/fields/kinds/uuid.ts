/** A UUID, kept and shown in lower case. A key is of kind `id` with `{ key: 'uuid' }`. */
import { isUuid } from './id.js'
import type { Kind } from './kind.js'

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
