/** The kinds `string`, `text` and `enum`. */
import type { Kind, TextForm } from './kind.js'

export const textForms: readonly TextForm[] = ['collapse', 'trim', 'lowercase', 'uppercase']

/**
 * Short text. It excludes NUL and strings that cannot be written as UTF-8 (a lone surrogate), because no database stores
 * them.
 */
export const string: Kind = {
  storage: 'text',
  compares: 'text',
  graphql: { type: 'String', filter: 'String' },
  schema: { type: 'string' },
  label: 'a string',
  test: "typeof v === 'string' && v.isWellFormed() && !v.includes('\\0')",
  fromText: (text) => text,
  rules: ['minLength', 'maxLength', 'pattern', 'format', 'oneOf', ...textForms],
}

/** Long text: the same values as `string`, with a larger control on pages. */
export const text: Kind = {
  ...string,
  rules: ['minLength', 'maxLength', 'pattern', 'format', ...textForms],
}

/** One of a few words: `{ oneOf: ['red', 'green'] }`. `enum: 'Color'` is the name of a GraphQL enum. */
export const enumeration: Kind = {
  ...string,
  compares: 'order',
  graphql: { type: 'String', filter: 'Enum' },
  label: 'one of its words',
  rules: ['oneOf'],
  needs: ['oneOf'],
}
