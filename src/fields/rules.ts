/** The rules that `@Field` accepts, for any class and for records only. Source: public API, Records. */
import type { ValueRule } from './kinds/kind.js'
import type { FormatName } from './formats.js'

/** Who may write: a role, several roles of which any suffices, or `false` for no client. */
export type WriteRule = false | string | readonly string[]

/** `Only callers with the role desk may write it.` */
export function describeWriteRule(rule: string | readonly string[]): string {
  return `Only callers with the role ${[rule].flat().join(' or ')} may write it.`
}

export function isWriteRule(value: unknown): value is WriteRule {
  if (value === false) return true
  const roles: readonly unknown[] = [value].flat()
  return roles.length > 0 && roles.every((role) => typeof role === 'string' && role.trim() !== '')
}

/** All are optional. A field without rules is required, not null, not read-only and not hidden. */
export interface FieldRules {
  /** The key may be absent. For null see `nullable`. Default false. */
  optional?: boolean
  /** Null is a value. Default false. */
  nullable?: boolean
  /** Taken when the key is absent, which makes the field optional. A function is called each time; `'now'` is this moment for a datetime. */
  default?: unknown
  /** Smallest number, or earliest moment of a datetime, itself allowed. */
  min?: number | string
  /** Largest number, or latest moment of a datetime, itself allowed. */
  max?: number | string
  /** Fewest characters (code points) of a text, fewest bytes of a blob. */
  minLength?: number
  /** Most characters (code points) of a text, most bytes of a blob. */
  maxLength?: number
  /** Text: blanks at both ends are taken away, before lengths and other rules are asked, and before it is stored. Default false. */
  trim?: boolean
  /** Text: each run of blanks becomes one space, likewise. Default false. */
  collapse?: boolean
  /** Text: put in lower case, likewise. Default false. */
  lowercase?: boolean
  /** Text: put in upper case, likewise. Default false. */
  uppercase?: boolean
  /** Must be found in the text; anchor it with `^` and `$` to mean the whole. A string is a regular expression's source. */
  pattern?: RegExp | string
  /** A well-known form of text. */
  format?: FormatName
  /** The only values allowed. */
  oneOf?: readonly (string | number | boolean)[]
  /** Beside `oneOf`: the name of a GraphQL enum made of its values. */
  enum?: string
  /** A list of such values; rules about values then hold for each item. Default false. */
  list?: boolean
  /** Fewest items of a list. */
  minItems?: number
  /** Most items of a list. */
  maxItems?: number
  /** In outputs only: an input that names it is refused like an unknown key. Default false. */
  readOnly?: boolean
  /**
   * A record's field: who may write it, where others only read it: a role, several roles of which any suffices, or
   * `false` for no client, as `readOnly`. Naming the field in an input is writing it. Default: whoever may write the row.
   */
  writes?: WriteRule
  /** Left out of all output and input. Default false. */
  hidden?: boolean
  /** For readers of the documentation. */
  description?: string
  /**
   * What people read in place of the property's name, on the admin page and as `title` in OpenAPI. A key of another row
   * gives its label to the relation. Default: the name in words, `createdAt` is "Created at".
   */
  label?: string
  /** A text below the field's control on the admin page. Default: `description`. */
  help?: string
  /** A value for readers of the documentation. */
  example?: unknown
  /** For `decimal`: how many digits it has at most, those behind the point included. Default 18, at most 38. */
  precision?: number
  /** For `decimal`: how many digits stand behind the point, always. Default 2. */
  scale?: number
  /** For `id`: a UUID in place of the database's next integer. */
  key?: 'uuid'
  /** A record's table: no two rows alike in it. A string names a group of fields unique together. */
  unique?: boolean | string
  /** A record's table: indexed. A string names a group of fields indexed together. */
  index?: boolean | string
  /** A record's table: the column's name. Default: the field's name in snake_case. */
  column?: string
  /**
   * A record's table: `min`, `max`, `oneOf`, `maxLength` and `default` are constraints of the database too. False leaves
   * them out. Default true.
   */
  check?: boolean
  /** A record's table: the field's former name, from which a migration renames its column. */
  was?: string
  /** Set by the relations of records, never by hand: the value is another record, loaded on demand. */
  relation?: boolean
}

export type RuleName = keyof FieldRules

/** Rule → what its value must be, completing "needs …". */
export const ruleValues: Readonly<Record<RuleName, RuleValue>> = {
  optional: 'true or false',
  nullable: 'true or false',
  default: 'anything',
  min: 'a number or a date',
  max: 'a number or a date',
  minLength: 'a whole number from 0',
  maxLength: 'a whole number from 0',
  trim: 'true or false',
  collapse: 'true or false',
  lowercase: 'true or false',
  uppercase: 'true or false',
  pattern: 'a regular expression',
  format: 'a format',
  oneOf: 'a list of values',
  enum: 'a name',
  list: 'true or false',
  minItems: 'a whole number from 0',
  maxItems: 'a whole number from 0',
  readOnly: 'true or false',
  writes: 'false, a role or a list of roles',
  hidden: 'true or false',
  description: 'a text',
  label: 'a name',
  help: 'a text',
  example: 'anything',
  precision: 'a whole number from 1 to 38',
  scale: 'a whole number from 0, not above precision',
  key: "'uuid'",
  unique: 'true, false or a name',
  index: 'true, false or a name',
  column: 'a name',
  check: 'true or false',
  was: 'a name',
  relation: 'true or false',
}

export type RuleValue =
  | 'true or false'
  | 'true, false or a name'
  | 'false, a role or a list of roles'
  | 'anything'
  | 'a number or a date'
  | 'a whole number from 0'
  | 'a whole number from 1 to 38'
  | 'a whole number from 0, not above precision'
  | 'a regular expression'
  | 'a format'
  | 'a list of values'
  | 'a name'
  | 'a text'
  | "'uuid'"

/** The rules that a kind must list before it may carry them. */
export const valueRules: readonly ValueRule[] = [
  'min',
  'max',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'oneOf',
  'trim',
  'collapse',
  'lowercase',
  'uppercase',
]
