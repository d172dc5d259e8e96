/** Every kind a field can be of. A new kind is a file beside this one and a line here. */
import { bigint } from './bigint.js'
import { blob } from './blob.js'
import { boolean } from './boolean.js'
import { date } from './date.js'
import { datetime } from './datetime.js'
import { decimal } from './decimal.js'
import { enumeration } from './enum.js'
import { id } from './id.js'
import { integer } from './integer.js'
import { json } from './json.js'
import type { Code, Kind, KindRules } from './kind.js'
import { numeric } from './numeric.js'
import { string } from './string.js'
import { text } from './text.js'
import { time } from './time.js'
import { uuid } from './uuid.js'

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

/** The entry of a kind as the field's rules make it: an `id` with `{ key: 'uuid' }` is a UUID. */
export function kindOf(name: KindName, rules: KindRules): Kind {
  const kind: Kind = kinds[name]
  return kind.refine?.(rules) ?? kind
}

/** Whether a program's value, never null or undefined, is of a kind, in JSON's form or the property's. */
export function isOfKind(value: unknown, kind: Kind): boolean {
  return kind.isPropertyValue?.(value) === true || toFunction(kind.test)(value)
}

/** The property's value of a value that is of the kind in either form. */
export function toProperty(value: unknown, { isPropertyValue: holds, read }: Kind): unknown {
  return read === undefined || holds?.(value) === true ? value : toFunction(read)(value)
}

const compiled = new Map<string, (value: unknown) => unknown>()

/** A kind's code as a function, whichever form it is written in. */
export function toFunction<T>(code: Code<T>): (value: unknown) => T {
  if (typeof code === 'function') return code
  let existing = compiled.get(code)
  if (existing === undefined) {
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the table's own expressions, at bootstrap
    existing = new Function('v', `return ${code}`) as (value: unknown) => unknown
    compiled.set(code, existing)
  }
  return existing as (value: unknown) => T
}
