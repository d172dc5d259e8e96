/** Errors for clients: their status, message and headers form the response. */

import { acceptOtherCopies } from './copies.js'
import { refuseUnknownOptions } from './unknown-options.js'

/**
 * Yields an error and its causes, each once, because a chain of causes may be circular. Source: conventions, "Errors".
 */
export function* causesOf(error: unknown): Generator<Error, void> {
  const visited = new Set<unknown>()
  for (let cause = error; cause instanceof Error && !visited.has(cause); cause = cause.cause) {
    visited.add(cause)
    yield cause
  }
}

/**
 * One validation error. `path` is dotted, from the root of the checked value (`lines.0.qty`). `code` is the rule's
 * name.
 */
export interface FieldError {
  readonly path: string
  readonly code: string
  readonly message: string
}

export interface HttpErrorOptions {
  /** Stable upper-case name of the error, e.g. `NOT_FOUND`. Default: derived from the status. */
  code?: string
  /** Validation errors by field, sent as `errors` in addition to `error`. */
  errors?: readonly FieldError[]
  /** Extra response headers, e.g. `{ allow: 'GET' }`. */
  headers?: Readonly<Record<string, string>>
  /** The underlying error. It is logged and never sent. */
  cause?: unknown
  /** The rule that refused the request, and its reason. It is logged at debug level and never sent. */
  reason?: string
}

const optionNames: ReadonlySet<string> = new Set<keyof HttpErrorOptions>([
  'code',
  'errors',
  'headers',
  'cause',
  'reason',
])

/**
 * An error that a handler may throw anywhere. The response has its status and the body `{ "error": message }`.
 *
 * @throws {RangeError} if the status is not an integer from 400 to 599
 * @throws {TypeError} if an option is unknown
 */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[] | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly reason: string | undefined

  constructor(status: number, message?: string, options: HttpErrorOptions = {}) {
    super(message ?? reasonPhrase(status), { cause: options.cause })
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`HttpError: ${status} is not an error status. Use 400 to 599.`)
    }
    refuseUnknownOptions('HttpError', options, optionNames)
    this.name = 'HttpError'
    this.status = status
    this.code = options.code ?? toCode(reasonPhrase(status))
    this.errors = options.errors
    this.headers = options.headers
    this.reason = options.reason
  }
}

acceptOtherCopies(HttpError, 'HttpError')

/** Returns the standard phrase of an error status (RFC 9110 §15), or `Error` for a status without one. */
export function reasonPhrase(status: number): string {
  return phrases[status] ?? 'Error'
}

function toCode(phrase: string): string {
  return phrase.toUpperCase().replace(/[^A-Z]+/g, '_')
}

const phrases: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  402: 'Payment required',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  408: 'Request timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition failed',
  413: 'Payload too large',
  414: 'URI too long',
  415: 'Unsupported media type',
  416: 'Range not satisfiable',
  422: 'Unprocessable content',
  423: 'Locked',
  425: 'Too early',
  426: 'Upgrade required',
  428: 'Precondition required',
  429: 'Too many requests',
  431: 'Request header fields too large',
  500: 'Internal server error',
  501: 'Not implemented',
  502: 'Bad gateway',
  503: 'Service unavailable',
  504: 'Gateway timeout',
}
