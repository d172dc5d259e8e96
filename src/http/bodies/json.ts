/** Reads a JSON body: UTF-8, at most 64 levels deep, no key that reaches a prototype. Source: decisions on Requests, "JSON"; RFC 8259. */
import { scan } from 'secure-json-parse'
import { InexactNumberError, parseJson } from '../../core/parse-json.js'
import { HttpError } from '../../errors/http-error.js'
import { deepestJson } from '../limits.js'
import { readText } from './text.js'

/**
 * @returns the value as `JSON.parse` makes it
 * @throws {HttpError} 400 `INVALID_UTF8`, `JSON_TOO_DEEP`, `MALFORMED_JSON`, `INEXACT_NUMBER` or `PROTOTYPE_KEY`
 */
export function readJson(bytes: Buffer): unknown {
  const text = readText(bytes)
  if (isDeeperThan(deepestJson, bytes, text)) {
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
    return parseJson(text)
  } catch (cause) {
    if (cause instanceof InexactNumberError) {
      const message = `The JSON body has the number ${cause.number}, which cannot be read exactly. Send it as text.`
      throw new HttpError(400, message, { code: 'INEXACT_NUMBER', cause })
    }
    const place = cause instanceof Error ? / at position \d+/.exec(cause.message)?.[0] : undefined
    const message = `The body is not valid JSON${place === undefined ? '' : `, see${place}`}.`
    throw new HttpError(400, message, { code: 'MALFORMED_JSON', cause })
  }
}

/** True for few bodies; an escape may hide any letter of a key. */
function mayNamePrototype(text: string): boolean {
  return /__proto__|constructor|\\u00/.test(text)
}

/** Too few brackets settle it for most bodies; only then every byte is looked at. */
function isDeeperThan(most: number, bytes: Buffer, text: string): boolean {
  if (text.length < 2 * (most + 1)) return false
  const brackets = countUpTo(most + 1, '{', text)
  return brackets + countUpTo(most + 1 - brackets, '[', text) > most && depthExceeds(most, bytes)
}

function countUpTo(enough: number, character: string, text: string): number {
  let count = 0
  let position = -1
  while (count < enough && (position = text.indexOf(character, position + 1)) !== -1) count++
  return count
}

const quote = 0x22
const backslash = 0x5c
const opens = 1
const closes = 2
const begins = 3

/** What a byte means; looking it up is twice as fast as comparing. */
const meanings = new Uint8Array(256)
for (const bracket of '[{') meanings[bracket.charCodeAt(0)] = opens
for (const bracket of ']}') meanings[bracket.charCodeAt(0)] = closes
meanings[quote] = begins

function depthExceeds(most: number, bytes: Buffer): boolean {
  let depth = 0
  for (let position = 0; position < bytes.length; position++) {
    const meaning = meanings[bytes[position] ?? 0]
    if (meaning === 0) continue
    if (meaning === begins) position = endOfString(bytes, position)
    else if (meaning === closes) depth--
    else if (++depth > most) return true
  }
  return false
}

/** @returns the index of the closing quote, the length where there is none */
function endOfString(bytes: Buffer, start: number): number {
  let position = start + 1
  for (; position < bytes.length; position++) {
    const byte = bytes[position]
    if (byte === quote) return position
    if (byte === backslash) position++
  }
  return position
}
