/** The rules that `@Field` accepts, for any class and for records only. Source: public API, Records. */
import type { Problem } from '../errors/declaration-error.js'
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

export const writeRuleRemedy =
  "Name at least one role, such as 'admin', or write false to allow no client."

/**
 * The problem with an invalid `writes`, of an operation, a field or a link.
 *
 * @param where the place of the rule: `Ticket.status: writes`
 */
export function writeRuleProblem(where: string): Pick<Problem, 'message' | 'remedy'> {
  return {
    message: `${where} is not false, a role or a list of roles.`,
    remedy: writeRuleRemedy,
  }
}

/** The values that the functions of `messages` receive. */
interface MessageOperands {
  /** The value is missing. */
  required: true
  /** The value has another kind, or is null. The operand is the name of the kind. */
  type: string
  min: number | string
  max: number | string
  minLength: number
  maxLength: number
  pattern: RegExp | string
  format: FormatName
  oneOf: readonly (string | number | boolean)[]
  minItems: number
  maxItems: number
  /** For records: another row has the value. */
  unique: boolean | string
}

/** The rules that can have messages of their own. The name of a rule is the `code` of its violation. */
export type MessageRule = keyof MessageOperands

/** Complete messages by rule. A function receives the rule's value when the application starts. */
export type FieldMessages = {
  readonly [Rule in MessageRule]?: string | ((operand: MessageOperands[Rule]) => string)
}

/** The rules of a field, all optional. A field without rules is required, not null, not read-only and not hidden. */
export interface FieldRules {
  /** The key may be absent. For null see `nullable`. Default false. */
  optional?: boolean
  /** Null is a value. Default false. */
  nullable?: boolean
  /** The value if the key is absent. It makes the field optional. A function is called each time. `'now'` is the current time. */
  default?: unknown
  /** The smallest allowed number, or the earliest time of a datetime. */
  min?: number | string
  /** The largest allowed number, or the latest time of a datetime. */
  max?: number | string
  /** The minimum number of characters (code points) of a text or bytes of a blob. */
  minLength?: number
  /** The maximum number of characters (code points) of a text or bytes of a blob. */
  maxLength?: number
  /** Text: removes white space at both ends, before other rules are checked and the text is stored. Default false. */
  trim?: boolean
  /** Text: replaces each run of white space by one space, before other rules are checked. Default false. */
  collapse?: boolean
  /** Text: converts to lower case, before other rules are checked. Default false. */
  lowercase?: boolean
  /** Text: converts to upper case, before other rules are checked. Default false. */
  uppercase?: boolean
  /**
   * `'NFC'`: stores letters with accents in their composed form, before other rules are checked. The same word in two forms
   * is otherwise two texts, for `unique` and for filters too. Default: the text as sent.
   */
  normalize?: 'NFC'
  /** A regular expression that must match in the text. Use `^` and `$` to match the complete text. A string is its source. */
  pattern?: RegExp | string
  /** A well-known form of text. */
  format?: FormatName
  /** The allowed values. */
  oneOf?: readonly (string | number | boolean)[]
  /** With `oneOf`: the name of a GraphQL enum with its values. */
  enum?: string
  /**
   * With `oneOf`: what people read in place of the values, on the admin page and in descriptions: `{ new: 'Not started' }`.
   * Default: the values.
   */
  labels?: Readonly<Record<string, string>>
  /** The field is a list of such values. Rules about values apply to each item. Default false. */
  list?: boolean
  /** The minimum number of items of a list. */
  minItems?: number
  /** The maximum number of items of a list. */
  maxItems?: number
  /** Only outputs have the field. In an input it is refused like an unknown key. Default false. */
  readOnly?: boolean
  /**
   * For records: who may write the field: a role, several roles of which the caller needs one, or `false` for no client, as
   * with `readOnly`. An input that contains the field writes it. Default: all callers that may write the row.
   */
  writes?: WriteRule
  /** Neither outputs nor inputs have the field. Default false. */
  hidden?: boolean
  /** The description in the documentation. */
  description?: string
  /**
   * The label on the admin page, and the `title` in OpenAPI. The label of a foreign key is also the label of its relation.
   * Default: the name in words, `createdAt` is "Created at".
   */
  label?: string
  /** The text below the field's control on the admin page. Default: `description`. */
  help?: string
  /**
   * The words of the rules, in place of the framework's: `{ pattern: 'A barcode is S and six digits.' }`. Each is the
   * complete message, at every interface.
   */
  messages?: FieldMessages
  /** An example in the documentation. */
  example?: unknown
  /** For `decimal`: the maximum number of digits, including the digits after the point. Default 18, at most 38. */
  precision?: number
  /** For `decimal`: the number of digits after the point. Default 2. */
  scale?: number
  /** For `id`: a UUID instead of an integer from the database. */
  key?: 'uuid'
  /** For records: no two rows have the same value. Fields with the same string are unique together. */
  unique?: boolean | string
  /** For records: the column has an index. Fields with the same string share an index. */
  index?: boolean | string
  /** For records: the column's name. Default: the field's name in snake_case. */
  column?: string
  /**
   * For records: whether `min`, `max`, `oneOf`, `maxLength` and `default` are also constraints of the database. Default
   * true.
   */
  check?: boolean
  /** For records: the database computes the value, so that nobody writes it: `total = price * count`. Default false. */
  generated?: boolean
  /**
   * For records: PostgreSQL's own type of the column: `'citext'`, `'order_status'`, `'int4[]'`. The start stops if the
   * database has no such type. SQLite ignores it. Default: the type of the kind.
   */
  type?: string
  /** For records: the field's former name. A migration renames the column. */
  was?: string
  /** Set by decorators of relations only: the value is another record, loaded on demand. */
  relation?: boolean
}

export type RuleName = keyof FieldRules

/** By rule: its allowed values, appended to "needs …". */
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
  normalize: "'NFC'",
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
  labels: 'texts by value',
  help: 'a text',
  messages: 'texts or functions by rule',
  example: 'anything',
  precision: 'a whole number from 1 to 38',
  scale: 'a whole number from 0, not above precision',
  key: "'uuid'",
  unique: 'true, false or a name',
  index: 'true, false or a name',
  column: 'a name',
  check: 'true or false',
  generated: 'true or false',
  type: 'the name of a type',
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
  | 'the name of a type'
  | 'a text'
  | 'texts by value'
  | 'texts or functions by rule'
  | "'uuid'"
  | "'NFC'"

/** The rules that only kinds with this rule in their list support. */
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
  'normalize',
]
