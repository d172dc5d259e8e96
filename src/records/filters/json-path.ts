/** Reads a place within a JSON value: its path, and the type of what stands there. */
import type { JsonPath, JsonType } from '../../sql/condition.js'
import { invalid } from './invalid.js'

const maxPathLength = 20
const maxNameLength = 200
/** The most values in an `in` list. */
export const maxItems = 100

/** @throws {HttpError} 400 for anything but a list of names */
export function readPath(value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(path, 'type', 'must be a list of names')
  if (value.length > maxPathLength)
    throw invalid(path, 'maxItems', `has more than ${maxPathLength} names`)
  return value.map((name: unknown) => {
    const text = Number.isSafeInteger(name) ? String(name) : name
    if (
      typeof text !== 'string' ||
      text.length > maxNameLength ||
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

/** Places with the same form of path and the same type share a statement. */
export function pathKey(at: JsonPath | undefined): string {
  return at === undefined ? '' : `@${at.type}${at.slots.join('+')}`
}
