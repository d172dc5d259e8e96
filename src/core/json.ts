/** Tests of JSON values, and a parser that keeps numbers exact. */

import { findClosingQuote } from './text.js'

/** True if a JSON value is an object: neither null nor a list. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True if a value is a plain object with named properties, not a list and not a field value such as a date or bytes. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof Uint8Array)
  )
}

/** Thrown for well-formed JSON with a number that parsing would change. */
export class InexactNumberError extends SyntaxError {
  /** The number as sent, shortened. */
  readonly number: string

  constructor(number: string) {
    const shortened = number.length > 40 ? `${number.slice(0, 40)}…` : number
    super(`the number ${shortened} cannot be read exactly`)
    this.name = 'InexactNumberError'
    this.number = shortened
  }
}

/**
 * Parses JSON and rejects inexact numbers. `JSON.parse` rounds 9007199254740993 to the nearest double and makes `1e400`
 * infinite, so that another number would be stored. Fractions are rounded, as JSON readers do (RFC 8259 §6).
 *
 * @returns the value as `JSON.parse` returns it
 * @throws {SyntaxError} for malformed JSON, or a number that a double cannot represent
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (mayBeInexact.test(text)) checkExactness(text)
  return value
}

/**
 * Parses JSON of unknown origin, such as a cursor.
 *
 * @param parse a parser that throws a `SyntaxError`
 * @returns `undefined` for text that is not JSON
 */
export function tryParseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Numbers with fewer digits and smaller exponents are always exact. For most texts, no further test is needed. */
const mayBeInexact = /[\d.]{16}|\d[eE][-+]?\d{3}/

/** @param text well-formed JSON, so that numbers begin with a digit and strings end */
function checkExactness(text: string): void {
  const number = /\d[\d.eE+-]*/y
  for (let position = 0; position < text.length; position++) {
    const letter = text.charCodeAt(position)
    if (letter === quote) position = findClosingQuote(text, position)
    else if (letter >= zero && letter <= nine) {
      number.lastIndex = position
      const [token = ''] = number.exec(text) ?? []
      if (!isExact(token)) throw new InexactNumberError(token)
      position = number.lastIndex - 1
    }
  }
}

const [quote, zero, nine] = [0x22, 0x30, 0x39]

function isExact(token: string): boolean {
  const value = Number(token)
  if (!Number.isFinite(value)) return false
  if (value === 0) return !/^[^eE]*[1-9]/.test(token)
  // A double holds every number of 15 digits. This saves the comparison for most numbers of a long list.
  if (token.length <= 15) return true
  if (Number.isSafeInteger(value) || !Number.isInteger(value)) return true
  const sent = decimalOf(token)
  const read = decimalOf(String(value))
  return sent.digits === read.digits && sent.exponent === read.exponent
}

/** Splits a number into digits without zeros at either end and a power of ten. */
function decimalOf(token: string): { digits: string; exponent: number } {
  const [mantissa = '', power = '0'] = token.split(/[eE]/)
  const [integerPart = '', fraction = ''] = mantissa.split('.')
  const all = (integerPart + fraction).replace(/^0+/, '')
  const digits = withoutTrailingZeros(all)
  return { digits, exponent: Number(power) - fraction.length + all.length - digits.length }
}

/** A loop instead of a regular expression, which would restart at every zero of a long number. */
function withoutTrailingZeros(text: string): string {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === 48) end--
  return text.slice(0, end)
}
