/** Reads a JSON body: UTF-8, at most 64 levels deep, no key that reaches a prototype. Source: decisions on Requests, "JSON"; RFC 8259. */
import { scan } from 'secure-json-parse'
import { HttpError } from '../../errors/http-error.js'
import { deepestJson } from '../limits.js'
import { readText } from './text.js'

/**
 * @returns the value as `JSON.parse` makes it
 * @throws {HttpError} 400 `INVALID_UTF8`, `JSON_TOO_DEEP`, `MALFORMED_JSON` or `PROTOTYPE_KEY`
 */
export function readJson(bytes: Buffer): unknown {
  const text = readText(bytes)
  if (isDeeperThan(deepestJson, text)) {
    const message = `The JSON body is nested more than ${deepestJson} levels deep.`
    throw new HttpError(400, message, { code: 'JSON_TOO_DEEP' })
  }
  const value = parse(text)
  if (typeof value === 'object' && value !== null && mayNamePrototype(text)) {
    // The package declares its answer as `any`; null is its word for a forbidden key.
    if ((scan(value, { safe: true }) as unknown) === null) {
      const message = 'The JSON body has a "__proto__" or "constructor.prototype" key.'
      throw new HttpError(400, message, { code: 'PROTOTYPE_KEY' })
    }
  }
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const place = cause instanceof Error ? / at position \d+/.exec(cause.message)?.[0] : undefined
    const message = `The body is not valid JSON${place === undefined ? '' : `, see${place}`}.`
    throw new HttpError(400, message, { code: 'MALFORMED_JSON', cause })
  }
}

/** False for nearly every body, found without a regular expression; an escape may hide any letter of a key. */
function mayNamePrototype(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor') || text.includes('\\u00')
}

/** Too few brackets settle it for most bodies; only then every character is looked at. */
function isDeeperThan(most: number, text: string): boolean {
  if (text.length < 2 * (most + 1)) return false
  const brackets = countUpTo(most + 1, '{', text)
  return brackets + countUpTo(most + 1 - brackets, '[', text) > most && depthExceeds(most, text)
}

function countUpTo(enough: number, character: string, text: string): number {
  let count = 0
  let position = -1
  while (count < enough && (position = text.indexOf(character, position + 1)) !== -1) count++
  return count
}

const quote = 0x22
const backslash = 0x5c

function depthExceeds(most: number, text: string): boolean {
  let depth = 0
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position)
    if (code === quote) position = endOfString(text, position)
    // The bracket and the brace differ in one bit: 5b and 7b open, 5d and 7d close.
    else if ((code | 0x20) === 0x7b) {
      if (++depth > most) return true
    } else if ((code | 0x20) === 0x7d) depth--
  }
  return false
}

/** @returns the index of the closing quote, the text's length where there is none */
function endOfString(text: string, start: number): number {
  let position = start + 1
  for (; position < text.length; position++) {
    const code = text.charCodeAt(position)
    if (code === quote) return position
    if (code === backslash) position++
  }
  return position
}
