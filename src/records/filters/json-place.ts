/** A place within a JSON value, by its path, and the type of what is compared there: values of another type are as none. */
import type { RawBuilder, Sql } from '../statements/builder.js'
import { Slot } from '../statements/builder.js'
import type { Dialect } from '../engines/engine.js'
import { invalid } from './invalid.js'

/** `any` asks only whether there is a value. */
export type JsonType = 'number' | 'text' | 'boolean' | 'any'

export interface JsonPlace {
  readonly type: JsonType
  /** Of the paths: an engine may need more than one for keys that look like places in a list. */
  readonly slots: readonly number[]
}

const longestPath = 20
const longestName = 200
/** Values in a list of those to be found. */
export const mostItems = 100

/** @throws {HttpError} 400 for what is no list of names */
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

/** @returns `undefined` for what is no single value */
export function typeOfJson(value: unknown): Exclude<JsonType, 'any'> | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : undefined
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value) ? 'text' : undefined
}

/** SQL of the value there; null where there is none, or one of another type. */
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

/** Places of one form of path and one type are compared by one statement. */
export function placeKey(at: JsonPlace | undefined): string {
  return at === undefined ? '' : `@${at.type}${at.slots.join('+')}`
}
