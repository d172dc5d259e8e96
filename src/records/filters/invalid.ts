/** The error of a question that cannot be read. */
import { HttpError } from '../../errors/http-error.js'
import { clip } from '../../fields/faults.js'

/** The error of a faulty question: one fault, named by its path. */
export function invalid(path: string, code: string, text: string): HttpError {
  const at = clip(path)
  const message = `${at === '' ? 'the filter' : at} ${text}`
  return new HttpError(400, message, { code: 'VALIDATION', errors: [{ path: at, code, message }] })
}
