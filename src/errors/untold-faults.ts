/**
 * Faults about fields that clients must not know of: the program sees them in full, a client only learns that there are
 * some.
 */
import { HttpError, type FieldError } from './http-error.js'

/** Enumerable, so that a fault that is copied with another path keeps it; in no JSON. */
const untold = Symbol('untold')

/** @returns the error with these faults marked; any other as it is */
export function markUntold(error: unknown, isUntold: (fault: FieldError) => boolean): unknown {
  if (!(error instanceof HttpError) || error.errors?.some(isUntold) !== true) return error
  const errors = error.errors.map((fault) =>
    isUntold(fault) ? { ...fault, [untold]: true } : fault,
  )
  const { status, message, code, headers } = error
  return new HttpError(status, message, { code, errors, headers, cause: error })
}

/** True if the client does not see all of it. */
export function hasUntold({ errors }: HttpError): boolean {
  return errors?.some((fault) => untold in fault) === true
}

/** @returns the error for the client: the same one if none of its faults is marked */
export function withoutUntold(error: HttpError): HttpError {
  if (!hasUntold(error)) return error
  const { status, code, headers } = error
  const errors = error.errors?.filter((fault) => !(untold in fault)) ?? []
  const sentence = errors.map(({ message }) => message).join('; ')
  return new HttpError(status, sentence === '' ? somewhere : sentence, {
    code,
    headers,
    ...(errors.length > 0 && { errors }),
    cause: error,
  })
}

const somewhere = 'A value does not fit the record.'
