/** The kinds of fields. To add a kind, define it in this folder and list it in `kinds`. */
import type { Kind, Code, KindRules } from './kind.js'
import { bigint, integer, numeric, decimal } from './numbers.js'
import { date, datetime, time } from './dates.js'
import { enumeration, string, text } from './strings.js'
import { id, uuid } from './identifiers.js'
import { json } from './json.js'

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
