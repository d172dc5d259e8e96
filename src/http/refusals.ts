/**
 * Errors for requests that are refused: over a limit, while the application closes, or without room on the disk. Metrics
 * count them. They are not logged individually, because a client that sends too much would also fill the disk with logs.
 * Source: docs/configuration.md, "Bounds".
 */
import type { ErrorCode } from '../errors/error-codes.js'
import { HttpError } from '../errors/http-error.js'

/** True for the system's errors that the device is full or its quota used up. */
export function isDiskFull(failure: unknown): boolean {
  const { code } = (failure ?? {}) as { readonly code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** 413, before or while a body is read. */
export function tooLarge(label: string, limit: number): HttpError {
  return new HttpError(413, `${label} is larger than ${limit} bytes.`)
}

/** The connection broke while a body was read. No client gets this error. Its code distinguishes it in the log. */
export function clientLeft(cause?: unknown): HttpError {
  return new HttpError(400, 'The client went away.', { code: 'CLIENT_GONE', cause })
}

/** A full disk is not the client's error: 503 with `Retry-After`. */
export function diskFull(cause: unknown): HttpError {
  const headers = { 'Retry-After': '10' }
  return new HttpError(503, 'There is no room for the files.', { headers, cause })
}

/** For requests and streams while the application closes. */
export function closingRefusal(): HttpError {
  return refusal(503, 'APPLICATION_CLOSING', 'The application is closing.', 1)
}

/** For a handler that exceeds the time limit of its route. */
export function timeoutRefusal(): HttpError {
  return new HttpError(503, 'The request took too long.')
}

/** For requests while the event loop lags too far behind to respond in time. */
export function overloadRefusal(): HttpError {
  return refusal(503, 'TOO_BUSY', 'The application has too much to do.', 1)
}

/** For requests of a connection above the limit. */
export function connectionRefusal(): HttpError {
  return refusal(503, 'TOO_MANY_CONNECTIONS', 'Too many connections are open.', 5)
}

/** @param scope whether the limit of the address or of the application is reached */
export function streamRefusal(scope: 'address' | 'application'): HttpError {
  return scope === 'address'
    ? refusal(429, 'TOO_MANY_STREAMS', 'Too many streams are open from this address.', 5)
    : refusal(503, 'TOO_MANY_STREAMS', 'Too many streams are open.', 5)
}

/** @param wait seconds until the address may begin sessions again */
export function sessionRefusal(wait: number): HttpError {
  return refusal(429, 'TOO_MANY_SESSIONS', 'Too many sessions are begun from this address.', wait)
}

/** True for errors that report a limit or the end of the application, and not a failure of a handler. */
export function isRefusal(error: HttpError): boolean {
  return (refusalCodes as readonly string[]).includes(error.code)
}

const refusalCodes = [
  'APPLICATION_CLOSING',
  'TOO_BUSY',
  'TOO_MANY_CONNECTIONS',
  'TOO_MANY_STREAMS',
  'TOO_MANY_SESSIONS',
] as const satisfies readonly ErrorCode[]
type RefusalCode = (typeof refusalCodes)[number]

function refusal(status: number, code: RefusalCode, message: string, wait: number): HttpError {
  return new HttpError(status, message, { code, headers: { 'Retry-After': String(wait) } })
}
