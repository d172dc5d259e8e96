/**
 * The answers to requests over a limit. They are counted in metrics and not logged one by one: a client that sends too
 * much would fill the disk too. Source: docs/configuration.md, "Bounds".
 */

import { HttpError } from '../errors/http-error.js'

/** True for the system's errors that the device is full or its quota used up. */
export function isDiskFull(failure: unknown): boolean {
  const { code } = (failure ?? {}) as { readonly code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** A full disk is not the client's error: 503 with `Retry-After`. */
export function diskFull(cause: unknown): HttpError {
  const headers = { 'Retry-After': '10' }
  return new HttpError(503, 'There is no room for the files.', { headers, cause })
}

/** For what comes, or would go on, while the application closes. */
export function closingRefusal(): HttpError {
  return refusal(503, 'APPLICATION_CLOSING', 'The application is closing.', 1)
}

/** For a handler that is still at work when the time of its route is over. */
export function timeoutRefusal(): HttpError {
  return new HttpError(503, 'The request took too long.')
}

/** For what comes while other work keeps the process from answering in time. */
export function overloadRefusal(): HttpError {
  return refusal(503, 'TOO_BUSY', 'The application has too much to do.', 1)
}

/** For a connection more than there may be. */
export function connectionRefusal(): HttpError {
  return refusal(503, 'TOO_MANY_CONNECTIONS', 'Too many connections are open.', 5)
}

/** @param scope of the address, or of the whole application */
export function streamRefusal(scope: 'address' | 'application'): HttpError {
  return scope === 'address'
    ? refusal(429, 'TOO_MANY_STREAMS', 'Too many streams are open from this address.', 5)
    : refusal(503, 'TOO_MANY_STREAMS', 'Too many streams are open.', 5)
}

/** @param wait seconds until the address may begin sessions again */
export function sessionRefusal(wait: number): HttpError {
  return refusal(429, 'TOO_MANY_SESSIONS', 'Too many sessions are begun from this address.', wait)
}

/** True for the errors that are made here. */
export function isRefusal(error: HttpError): boolean {
  return refusals.has(error)
}

const refusals = new WeakSet<HttpError>()

function refusal(status: number, code: string, message: string, wait: number): HttpError {
  const error = new HttpError(status, message, { code, headers: { 'Retry-After': String(wait) } })
  refusals.add(error)
  return error
}
