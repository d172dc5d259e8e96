/** The kinds of fields, except numbers and dates. To add a kind, define it in this folder and list it in `kinds`. */
import type { Kind, Code, KindRules, Presentation, TextForm } from './kind.js'
import { bigint, integer, numeric, decimal } from './numbers.js'
import { date, datetime, time } from './dates.js'
import { parseJson } from '../../core/json.js'

const uuidPresentation: Partial<Presentation> = {
  filter: 'equals',
  pattern: '^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$',
}

/** A UUID, stored and sent in lower case. For keys use `id` with `{ key: 'uuid' }`. */
const uuid: Kind = {
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
  presentation: uuidPresentation,
}

function toLowerCase(value: unknown): string {
  return (value as string).toLowerCase()
}

/** The key of a record: an integer that the database generates, or with `{ key: 'uuid' }` a UUID. */
const id: Kind = {
  ...integer,
  graphql: { type: 'ID', filter: 'ID' },
  label: 'an integer id',
  rules: ['min', 'max'],
  refine: ({ key }) => (key === 'uuid' ? uuidKey : id),
  presentation: { chart: 'groups' },
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
  presentation: uuidPresentation,
}

/** True for the 8-4-4-4-12 form of RFC 9562, in any version and case. */
export function isUuid(value: unknown): boolean {
  return typeof value === 'string' && value.length === 36 && uuidPattern.test(value)
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The maximum number of nested lists and objects in a value, because deeper values would overflow the stack of
 * `JSON.stringify`. Source: decisions, Requests.
 */
export const maxDepth = 64

const json: Kind = {
  storage: 'json',
  compares: 'nothing',
  graphql: { type: 'String', filter: 'Json' },
  schema: { type: ['object', 'array', 'string', 'number', 'boolean'] },
  label: `a JSON value, at most ${maxDepth} levels deep`,
  test: isJson,
  fromText: (text) => {
    try {
      const value: unknown = parseJson(text)
      return isJson(value) ? value : undefined
    } catch {
      return undefined
    }
  },
  rules: [],
}

/**
 * Whether JSON can express the value: no NaN, no functions, no keys `__proto__` or `constructor.prototype`, not too deep.
 * Strings must not contain NUL, because one such row would fail every query that reads within the column.
 */
function isJson(value: unknown, depth = 1): boolean {
  if (value === null || typeof value === 'boolean') return true
  if (typeof value === 'string') return !unstorable.test(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > maxDepth) return false
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1))
  return Object.entries(value).every(
    ([key, item]) =>
      key !== '__proto__' &&
      !unstorable.test(key) &&
      !(key === 'constructor' && hasPrototype(item)) &&
      (item === undefined || isJson(item, depth + 1)),
  )
}

/** NUL and lone surrogates. */
const unstorable = /[\0\p{Surrogate}]/u

/** `constructor.prototype` leads to the prototype of every object. The parser of JSON bodies refuses it too. */
function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

/** In the order in which they are applied. */
export const textForms: readonly TextForm[] = [
  'collapse',
  'trim',
  'lowercase',
  'uppercase',
  'normalize',
]

/** Whether a rule of a field changes its text. */
export function hasTextForm(
  rules: Readonly<Partial<Record<TextForm, unknown>>>,
  form: TextForm,
): boolean {
  return rules[form] !== undefined && rules[form] !== false
}

/**
 * Short text. It excludes NUL and strings that cannot be written as UTF-8 (a lone surrogate), because no database stores
 * them.
 */
const string: Kind = {
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
const text: Kind = {
  ...string,
  rules: ['minLength', 'maxLength', 'pattern', 'format', ...textForms],
  presentation: { control: 'lines' },
}

/** One of a few words: `{ oneOf: ['red', 'green'] }`. `enum: 'Color'` is the name of a GraphQL enum. */
const enumeration: Kind = {
  ...string,
  compares: 'order',
  graphql: { type: 'String', filter: 'Enum' },
  label: 'one of its words',
  rules: ['oneOf'],
  needs: ['oneOf'],
}

/** Bytes: a Buffer in the program, base64 (RFC 4648 §4, padded) in JSON and text. */
const blob: Kind = {
  storage: 'bytes',
  compares: 'equality',
  graphql: { type: 'String', filter: 'Bytes' },
  schema: {
    type: 'string',
    contentEncoding: 'base64',
    pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
  },
  label: 'base64 text',
  test: (value) => value instanceof Uint8Array || isBase64(value),
  read: (value) => (typeof value === 'string' ? Buffer.from(value, 'base64') : value),
  write: (value) =>
    value instanceof Uint8Array
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
      : value,
  encode: toBytes,
  fromText: (text) => (isBase64(text) ? text : undefined),
  measure: 'bytes',
  rules: ['minLength', 'maxLength'],
  // A pattern could not be tested for a file of many megabytes.
  presentation: { control: 'file', filter: 'none', pattern: undefined },
}

function toBytes(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value, 'base64')
  return Buffer.isBuffer(value) ? value : Buffer.from(value as Uint8Array)
}

function isBase64(value: unknown): boolean {
  return typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
}

/** True or false; in text exactly `true`, `false`, `1` or `0`, so that `"false"` never becomes true. */
const boolean: Kind = {
  storage: 'integer',
  compares: 'equality',
  graphql: { type: 'Boolean', filter: 'Boolean' },
  schema: { type: 'boolean' },
  label: 'true or false',
  test: "typeof v === 'boolean'",
  fromText: (text) => booleansByText.get(text),
  rules: ['oneOf'],
  presentation: { filter: 'choice' },
}

const booleansByText: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

export const kinds = {
  id,
  integer,
  bigint,
  numeric,
  decimal,
  string,
  text,
  boolean,
  datetime,
  date,
  time,
  uuid,
  enum: enumeration,
  blob,
  json,
} as const satisfies Readonly<Record<string, Kind>>

export type KindName = keyof typeof kinds

/** The kind of a field with rules: an `id` with `{ key: 'uuid' }` is a UUID. */
export function kindOf(name: KindName, rules: KindRules): Kind {
  const kind: Kind = kinds[name]
  return kind.refine?.(rules) ?? kind
}

/** Whether a program's value (never null or undefined) is of a kind, in its JSON form or as a property's value. */
export function isOfKind(value: unknown, kind: Kind): boolean {
  return kind.isPropertyValue?.(value) === true || toFunction(kind.test)(value)
}

/** Converts a value of the kind, in either form, to the property's value. */
export function toProperty(value: unknown, { isPropertyValue, read }: Kind): unknown {
  return read === undefined || isPropertyValue?.(value) === true ? value : toFunction(read)(value)
}

/** The JSON form of a value of the kind, whichever form it has. */
export function toJson(value: unknown, entry: Kind): unknown {
  const property = toProperty(value, entry)
  if (entry.write !== undefined) return entry.write(property)
  return entry.encode === undefined ? property : entry.encode(property)
}

const compiled = new Map<string, (value: unknown) => unknown>()

/** A kind's code as a function. */
export function toFunction<T>(code: Code<T>): (value: unknown) => T {
  if (typeof code === 'function') return code
  let existing = compiled.get(code)
  if (existing === undefined) {
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- expressions of this table, compiled at bootstrap
    existing = new Function('v', `return ${code}`) as (value: unknown) => unknown
    compiled.set(code, existing)
  }
  return existing as (value: unknown) => T
}
