/** A place within a JSON value: its path, and the type to compare with. A value of another type counts as missing. */
import type { RawBuilder, Sql } from '../statements/builder.js'
import { Slot } from '../statements/builder.js'
import type { Dialect } from '../../engines/contract/engine.js'
import { invalid } from './invalid.js'

/** `any` only asks whether a value exists. */
export type JsonType = 'number' | 'text' | 'boolean' | 'any'

export interface JsonPlace {
  readonly type: JsonType
  /** The slots of the path: an engine may need more than one for keys that look like list indexes. */
  readonly slots: readonly number[]
}

const longestPath = 20
const longestName = 200
/** The most values in an `in` list. */
export const mostItems = 100

/** @throws {HttpError} 400 for anything but a list of names */
export function readPath(value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(path, 'type', 'must be a list of names')
  if (value.length > longestPath)
    throw invalid(path, 'maxItems', `has more than ${longestPath} names`)
  return value.map((name: unknown) => {
    const text = Number.isSafeInteger(name) ? String(name) : name
    if (
      typeof text !== 'string' ||
      text.length > longestName ||
      /["\\\p{Cc}\p{Surrogate}]/u.test(text)
    )
      throw invalid(path, 'type', 'must be names without quotes and backslashes')
    return text
  })
}

/** @returns `undefined` for lists and objects */
export function typeOfJson(value: unknown): Exclude<JsonType, 'any'> | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : undefined
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value) ? 'text' : undefined
}

/** SQL of the value at the place; null if it is missing or of another type. */
export function writePlace(
  { type, slots }: JsonPlace,
  column: RawBuilder<unknown>,
  { sql, dialect }: { readonly sql: Sql; readonly dialect: Dialect },
): RawBuilder<unknown> {
  const written = slots.map((slot) => {
    const parts = dialect.jsonAt[type].split(/(\{[cp]\})/).map((part) => {
      if (part === '{c}') return column
      return part === '{p}' ? sql.val(new Slot(slot)) : sql.raw(part)
    })
    return sql.join(parts, sql``)
  })
  return written.length === 1 ? sql`(${sql.join(written)})` : sql`coalesce(${sql.join(written)})`
}

/** Places with the same form of path and the same type share a statement. */
export function placeKey(at: JsonPlace | undefined): string {
  return at === undefined ? '' : `@${at.type}${at.slots.join('+')}`
}
