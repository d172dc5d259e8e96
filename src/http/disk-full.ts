/** A full disk is not the request's fault: 503 with `Retry-After`. */
import { HttpError } from '../errors/http-error.js'

/** The system's own errors: no space left on the device, or the quota is used up. */
export function isDiskFull(failure: unknown): boolean {
  const { code } = (failure ?? {}) as { readonly code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT'
}

export function diskFull(cause: unknown): HttpError {
  const headers = { 'Retry-After': '10' }
  return new HttpError(503, 'There is no room for the files.', { headers, cause })
}
