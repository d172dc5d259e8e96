/** One of a few words, `{ oneOf: ['red', 'green'] }`; `enum: 'Color'` beside them names a GraphQL enum. */
import type { Kind } from './kind.js'
import { string } from './string.js'

export const enumeration: Kind = {
  ...string,
  compares: 'order',
  graphql: { type: 'String', filter: 'Enum' },
  label: 'one of its words',
  rules: ['oneOf'],
  needs: ['oneOf'],
}
