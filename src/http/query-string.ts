/** Reads `a=1&b=2`, from the query and from urlencoded bodies. Source: WHATWG URL, application/x-www-form-urlencoded. */
import { clip } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'

/** Text by name; a list if the name repeats. Has no prototype, so that no key can reach one. */
export type TextValues = Record<string, string | string[]>

/** Names that no field may have, because they would reach the prototype of a plain object. */
export const prototypeKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Maximum number of pairs. More get 400. */
const maxPairs = 1000

/**
 * @param text without the leading `?`; `+` is a space
 * @throws {HttpError} 400 on a malformed escape, a prototype key, or more than 1,000 pairs
 */
export function readQuery(text: string): TextValues {
  const values = Object.create(null) as TextValues
  if (text === '') return values
  let pairs = 0
  let start = 0
  while (start <= text.length) {
    const found = text.indexOf('&', start)
    const end = found === -1 ? text.length : found
    if (end > start) {
      if (++pairs > maxPairs) throw new HttpError(400, `More than ${maxPairs} parameters.`)
      addPair(values, text.slice(start, end))
    }
    start = end + 1
  }
  return values
}

/** Items of values with encoded commas. They are rare, so that most queries have no entry. */
const itemsWithCommas = new WeakMap<TextValues, Map<string, readonly string[]>>()

/**
 * Returns the items of a list in a query: two for `a,b`, one for `a%2Cb`. If the name repeats, each value is one item.
 *
 * @param values what `readQuery` returned
 */
export function listItems(values: TextValues, name: string): readonly string[] {
  const value = values[name] ?? ''
  if (Array.isArray(value)) return value
  return itemsWithCommas.get(values)?.get(name) ?? value.split(',')
}

function keepItems(values: TextValues, name: string, raw: string): void {
  const listsByName = itemsWithCommas.get(values) ?? new Map<string, readonly string[]>()
  itemsWithCommas.set(values, listsByName.set(name, raw.split(',').map(decodeComponent)))
}

function addPair(values: TextValues, pair: string): void {
  const equals = pair.indexOf('=')
  const name = decodeComponent(equals === -1 ? pair : pair.slice(0, equals))
  if (prototypeKeys.has(name)) {
    throw new HttpError(400, `"${clip(name)}" is not a parameter name.`, { code: 'PROTOTYPE_KEY' })
  }
  const raw = equals === -1 ? '' : pair.slice(equals + 1)
  const value = decodeComponent(raw)
  if (value !== raw && /%2c/i.test(raw)) keepItems(values, name, raw)
  const before = values[name]
  if (before === undefined) values[name] = value
  else if (Array.isArray(before)) before.push(value)
  else values[name] = [before, value]
}

function decodeComponent(text: string): string {
  const spaced = text.includes('+') ? withSpaces(text) : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch (cause) {
    throw new HttpError(400, 'Malformed percent-encoding.', { code: 'MALFORMED_ENCODING', cause })
  }
}

/** Longer texts are changed as bytes, because `replaceAll` needs 200 ms for a million plus signs. */
const longText = 1024

const [plus, space] = [0x2b, 0x20]

function withSpaces(text: string): string {
  if (text.length < longText) return text.replaceAll('+', ' ')
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] === plus) bytes[index] = space
  }
  return bytes.toString()
}
