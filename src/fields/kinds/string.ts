/** Short text. A string that cannot be written as UTF-8 (a lone surrogate) or that holds NUL is none: no store takes it. */
import type { Kind, TextForm } from './kind.js'

export const textForms: readonly TextForm[] = ['collapse', 'trim', 'lowercase', 'uppercase']

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
