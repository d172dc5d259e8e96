/** Long text: the same values as `string`, shown in a larger box. */
import type { Kind } from './kind.js'
import { string, textForms } from './string.js'

export const text: Kind = {
  ...string,
  rules: ['minLength', 'maxLength', 'pattern', 'format', ...textForms],
}
