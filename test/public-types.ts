/** Types of the public API that applications do not need by name. */
import type { connect, Field } from '../src/index.js'

export type Class<T = object> = abstract new (...args: never[]) => T

/** The kinds that `@Field` takes: `string`, `integer`, `datetime` … */
export type KindName = Extract<FieldKind, string>

/* eslint-disable @typescript-eslint/unified-signatures -- TypeScript infers from overloads only in the same order */
type FieldKind = typeof Field extends {
  (kind: infer Kind, rules?: never): unknown
  (rules?: never): unknown
  (target: never, member: never): unknown
  (value: never, context: never): unknown
}
  ? Kind
  : never
/* eslint-enable @typescript-eslint/unified-signatures */

export type DatabaseOptions = Parameters<typeof connect>[0]
