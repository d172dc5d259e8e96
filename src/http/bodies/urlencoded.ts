/** Reads a form's `a=1&b=2`: an object, a repeated key as a list. Source: WHATWG URL, application/x-www-form-urlencoded. */
import { readQuery, type TextValues } from '../query.js'
import { readText } from './text.js'

/**
 * @returns an object without a prototype
 * @throws {HttpError} 400 on invalid UTF-8, a malformed escape, a prototype key or too many pairs
 */
export function readUrlencoded(bytes: Buffer): TextValues {
  return readQuery(readText(bytes))
}
