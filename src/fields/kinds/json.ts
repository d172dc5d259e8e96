/** The kind `json`: any JSON value except null. In text it is written as JSON. */
import { parseJson } from '../../core/json.js'
import type { Kind } from './kind.js'

/**
 * The maximum number of nested lists and objects in a value, because deeper values would overflow the stack of
 * `JSON.stringify`. Source: decisions, Requests.
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
 * Whether JSON can express the value: no NaN, no functions, no keys `__proto__` or `constructor.prototype`, not too deep.
 * Strings must not contain NUL, because one such row would fail every query that reads within the column.
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

/** NUL and lone surrogates. */
const unstorable = /[\0\p{Surrogate}]/u

/** `constructor.prototype` leads to the prototype of every object. The parser of JSON bodies refuses it too. */
function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
