/** The scalar of whole numbers beyond 32 bits: operands of filters, and sums. GraphQL's own Int has no more. */
import type { TypeDeclaration } from '../declarations.js'

export const integerScalar: [string, TypeDeclaration] = [
  'Integer',
  {
    kind: 'scalar',
    description:
      'A whole number; where it is beyond 2^53, so that a number of JSON would lose digits, its text.',
    read: (value) => {
      if (typeof value === 'number' && Number.isSafeInteger(value)) return value
      throw new TypeError(`Integer cannot represent non-integer value: ${JSON.stringify(value)}`)
    },
    write: (value) => value,
  },
]
