import { isUtf8 } from 'node:buffer'
import { HttpError } from '../../errors/http-error.js'

const byteOrderMark = 0xfeff

/**
 * Decodes the bytes of a body as UTF-8. Source: decisions, Requests; RFC 3629.
 *
 * @returns the text without a byte order mark
 * @throws {HttpError} 400 `INVALID_UTF8`
 */
export function readText(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  // Decoding replaces malformed bytes by this character. Most texts do not contain it, so the exact check rarely runs.
  if (text.includes('\ufffd') && !isUtf8(bytes)) {
    throw new HttpError(400, 'The body is not valid UTF-8.', { code: 'INVALID_UTF8' })
  }
  return text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text
}
