/** Reads text and JSON of clients. Source: decisions, Requests; RFC 8259. */

import { HttpError } from '../../errors/http-error.js'
import { InexactNumberError, parseJson } from '../../core/json.js'
import { maxJsonDepth } from '../limits.js'

/** Removes a byte order mark. Of the ways to decode bytes, it is the fastest for short texts, by far on Bun. */
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes the bytes of a body as UTF-8. Source: decisions, Requests; RFC 3629.
 *
 * @returns the text without a byte order mark
 * @throws {HttpError} 400 `INVALID_UTF8`
 */
export function readText(bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new HttpError(400, 'The body is not valid UTF-8.', { code: 'INVALID_UTF8', cause })
  }
}

/** The maximum number of keys of an object. `JSON.parse` needs 100 ms for 90,000 different ones. */
const maxKeys = 1000

/** The maximum number of objects and lists of a body. */
const maxContainers = 100_000

/**
 * Parses JSON with limits: UTF-8, at most 64 levels, no key that reaches a prototype, and no more keys and objects than
 * `JSON.parse` reads in reasonable time, because it cannot be interrupted.
 *
 * @returns the value as `JSON.parse` returns it
 * @throws {HttpError} 400 `INVALID_UTF8`, `JSON_TOO_DEEP`, `JSON_TOO_COMPLEX`, `MALFORMED_JSON`, `INEXACT_NUMBER` or
 * `PROTOTYPE_KEY`
 */
export function readJson(bytes: Buffer): unknown {
  const text = readText(bytes)
  if (mayExceed(text)) checkComplexity(bytes)
  const value = parse(text)
  if (typeof value === 'object' && value !== null && mayNamePrototype(text)) {
    if (namesPrototype(value)) {
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
    const position =
      cause instanceof Error ? / at position \d+/.exec(cause.message)?.[0] : undefined
    const message = `The body is not valid JSON${position === undefined ? '' : `, see${position}`}.`
    throw new HttpError(400, message, { code: 'MALFORMED_JSON', cause })
  }
}

/** A quick test that is false for most bodies. An escape may stand for any letter of a key. */
function mayNamePrototype(text: string): boolean {
  return /__proto__|constructor|\\u00/.test(text)
}

/** True for a key that reaches a prototype when the value is merged into another object: at any level. */
function namesPrototype(value: object): boolean {
  const pending = [value]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (!Array.isArray(node) && hasPrototypeKey(node)) return true
    // `for … in` would make a text of each index of a long list.
    const values: readonly unknown[] = Array.isArray(node) ? node : Object.values(node)
    for (const inner of values) if (typeof inner === 'object' && inner !== null) pending.push(inner)
  }
  return false
}

function hasPrototypeKey(node: object): boolean {
  if (Object.hasOwn(node, '__proto__')) return true
  if (!Object.hasOwn(node, 'constructor')) return false
  const { constructor: inner } = node as { readonly constructor: unknown }
  return typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')
}

/** A quick test that is false for most bodies, because they have few brackets and colons. */
function mayExceed(text: string): boolean {
  if (text.length < 2 * (maxJsonDepth + 1)) return false
  const brackets = countUpTo(maxJsonDepth + 1, '{', text)
  return (
    brackets + countUpTo(maxJsonDepth + 1 - brackets, '[', text) > maxJsonDepth ||
    countUpTo(maxKeys + 1, ':', text) > maxKeys
  )
}

function countUpTo(enough: number, character: string, text: string): number {
  let count = 0
  let position = -1
  while (count < enough && (position = text.indexOf(character, position + 1)) !== -1) count++
  return count
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const opens = 1
const closes = 2
const begins = 3
const names = 4

/** The meaning of each byte. A table is twice as fast as comparisons. */
const meanings = new Uint8Array(256)
for (const bracket of '[{') meanings[bracket.charCodeAt(0)] = opens
for (const bracket of ']}') meanings[bracket.charCodeAt(0)] = closes
meanings[quote] = begins
meanings[colon] = names

/** Counts levels, keys and containers byte by byte. */
function checkComplexity(bytes: Buffer): void {
  const keys = new Uint16Array(maxJsonDepth + 1)
  let depth = 0
  let containers = 0
  for (let position = 0; position < bytes.length; position++) {
    const meaning = meanings[bytes[position] ?? 0]
    if (meaning === 0) continue
    if (meaning === begins) position = endOfString(bytes, position)
    else if (meaning === closes) depth = Math.max(0, depth - 1)
    else if (meaning === names) {
      keys[depth] = (keys[depth] ?? 0) + 1
      if ((keys[depth] ?? 0) > maxKeys) throw tooComplex(`an object with more than ${maxKeys} keys`)
    } else {
      depth++
      if (depth > maxJsonDepth) {
        const message = `The JSON body is nested more than ${maxJsonDepth} levels deep.`
        throw new HttpError(400, message, { code: 'JSON_TOO_DEEP' })
      }
      if (++containers > maxContainers) {
        throw tooComplex(`more than ${maxContainers} objects and lists`)
      }
      keys[depth] = 0
    }
  }
}

function tooComplex(description: string): HttpError {
  return new HttpError(400, `The JSON body has ${description}.`, { code: 'JSON_TOO_COMPLEX' })
}

/** @returns the index of the closing quote, or the length if there is none */
function endOfString(bytes: Buffer, start: number): number {
  let position = start + 1
  for (; position < bytes.length; position++) {
    const byte = bytes[position]
    if (byte === quote) return position
    if (byte === backslash) position++
  }
  return position
}
