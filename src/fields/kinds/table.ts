/** Every kind a field can be of. A new kind is a file beside this one and a line here. */
import { blob } from './blob.js'
import { boolean } from './boolean.js'
import { datetime } from './datetime.js'
import { id, uuidKey } from './id.js'
import { integer } from './integer.js'
import { json } from './json.js'
import type { Kind } from './kind.js'
import { numeric } from './numeric.js'
import { string } from './string.js'
import { text } from './text.js'

export const kinds = {
  id,
  integer,
  numeric,
  string,
  text,
  boolean,
  datetime,
  blob,
  json,
} as const satisfies Readonly<Record<string, Kind>>

export type KindName = keyof typeof kinds

/** The kind's entry; the one of an `id` with `{ key: 'uuid' }` is a UUID's. */
export function kindOf(name: KindName, key?: 'uuid'): Kind {
  return name === 'id' && key === 'uuid' ? uuidKey : kinds[name]
}

/** Whether a value, never null or undefined, is of a kind: its test, whichever form that is written in. */
export function isOfKind(value: unknown, { test }: Kind): boolean {
  if (typeof test === 'function') return test(value)
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the table's own expressions, at bootstrap
  const compiled = new Function('v', `return ${test}`) as (v: unknown) => boolean
  return compiled(value)
}
