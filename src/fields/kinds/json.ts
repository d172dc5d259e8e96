/** Any JSON value except null, which `nullable` is for. In text it is written as JSON. */
import { parseJson } from '../../core/json.js'
import type { Kind } from './kind.js'

/**
 * Levels of lists and objects in a value. Deeper ones are refused: `JSON.stringify` would overflow the stack on them.
 * Source: decisions, Requests.
 */
export const maxDepth = 64

export const json: Kind = {
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
 * True for what JSON can say: no NaN, no functions, no `__proto__` or `constructor.prototype` key, not too deep; and for
 * what every store can read again: a NUL in one row would fail each question that looks into the column.
 */
export function isJson(value: unknown, depth = 1): boolean {
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

/** NUL, and halves of characters. */
const unstorable = /[\0\p{Surrogate}]/u

/** The other way to every object's prototype, which a JSON body is refused for too. */
function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
