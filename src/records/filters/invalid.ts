/** The error for a query that cannot be read. */
import { HttpError } from '../../errors/http-error.js'
import { clip } from '../../core/text.js'

/** A 400 with one violation, named by its path. */
export function invalid(path: string, code: string, text: string): HttpError {
  const at = clip(path)
  const message = `${at === '' ? 'the filter' : at} ${text}`
  return new HttpError(400, message, { code: 'VALIDATION', errors: [{ path: at, code, message }] })
}
