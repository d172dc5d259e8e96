/** Errors for clients: their status, message and headers form the response. */
import { acceptOtherCopies } from './shared-class.js'
import type { ErrorCode } from './error-codes.js'
import { copyMarks, isHiddenFieldError, sentenceOf, type FieldError } from './field-error.js'
import { findUnknownOptions } from './unknown-options.js'

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

export interface HttpErrorOptions<Code extends string = ErrorCode> {
  /** Stable upper-case name of the error, sent as `code`. Default: made from the status, such as `NOT_FOUND` for 404. */
  code?: Code
  /** Validation errors by field, sent as `errors` in addition to `error`. */
  errors?: readonly FieldError[]
  /** Extra response headers, e.g. `{ allow: 'GET' }`. */
  headers?: Readonly<Record<string, string>>
  /** The underlying error. It is logged and never sent. */
  cause?: unknown
  /** The rule that refused the request, and its reason. It is logged at debug level and never sent. */
  reason?: string
}

/** What `with` changes. A property that is not named stays as it is. */
export interface HttpErrorChanges extends HttpErrorOptions<string> {
  status?: number
  message?: string
}

const optionNames: readonly (keyof HttpErrorOptions)[] = [
  'code',
  'errors',
  'headers',
  'cause',
  'reason',
]
/** Not declared with `declareOptions`, which builds on errors. */
const knownOptions = {
  names: new Set<string>(optionNames),
  listedNames: optionNames,
  where: 'HttpError',
}

/**
 * An error that a handler may throw anywhere. The response has its status and the body
 * `{ "error": message, "code": code }`.
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
    const [unknown] = findUnknownOptions(options, knownOptions)
    if (unknown !== undefined) throw new TypeError(`${unknown.message} ${unknown.remedy}`)
    this.name = 'HttpError'
    this.status = status
    this.code = options.code ?? codeOfStatus(status)
    this.errors = options.errors
    this.headers = options.headers
    this.reason = options.reason
  }

  /**
   * Copies the error with some properties changed. The copy has the class, the own properties and the marks of the
   * original, which is its `cause`.
   *
   * ```ts
   * throw error.with({ message: `${id}: ${error.message}` })
   * ```
   */
  with({ status = this.status, message = this.message, ...changes }: HttpErrorChanges): this {
    const { code, errors, headers, reason } = this
    const options: HttpErrorOptions<string> = {
      code,
      errors,
      headers,
      reason,
      cause: this,
      ...changes,
    }
    const copy = new HttpError(status, message, options as HttpErrorOptions)
    Object.setPrototypeOf(copy, Object.getPrototypeOf(this) as object)
    for (const [name, value] of Object.entries(this))
      if (!(name in copy)) Reflect.set(copy, name, value)
    return copy as this
  }

  /**
   * Copies the error with each validation error changed, such as its path. A message that lists the validation errors
   * is made again from the new ones. A changed validation error that was hidden from clients stays hidden.
   *
   * ```ts
   * throw error.mapFields((fieldError) => ({ ...fieldError, path: `lines.${fieldError.path}` }))
   * ```
   *
   * @param change returns undefined to leave out a validation error. Then the message never mentions it.
   * @returns the same error if it has no validation errors
   */
  mapFields(change: (fieldError: FieldError) => FieldError | undefined): this {
    const { errors, message } = this
    if (errors === undefined) return this
    const changed = errors.map((fieldError) => {
      const next = change(fieldError)
      return next && copyMarks(fieldError, next)
    })
    const kept = changed.filter((fieldError) => fieldError !== undefined)
    const isComplete = kept.length === errors.length
    if (isComplete && message !== sentenceOf(errors)) return this.with({ errors: kept })
    if (kept.length > 0) return this.with({ errors: kept, message: sentenceOf(kept) })
    return this.with({ errors: undefined, message: generalMessage(this.status) })
  }

  /** True if clients do not see all validation errors, because some are about hidden fields. */
  get hasHiddenErrors(): boolean {
    return this.errors?.some(isHiddenFieldError) === true
  }

  /**
   * @returns the error as clients may see it, without validation errors of hidden fields. The same error if nothing is
   * hidden. The framework does this for every response. Call it before you write the message somewhere else.
   */
  forClient(): this {
    if (!this.hasHiddenErrors) return this
    return this.mapFields((fieldError) => (isHiddenFieldError(fieldError) ? undefined : fieldError))
  }
}

/** The message if every validation error is hidden. */
function generalMessage(status: number): string {
  return status === 409 ? 'Another record is in its way.' : 'A value does not fit the record.'
}

acceptOtherCopies(HttpError, 'HttpError')

/** The JSON of an error in the standard form. */
export interface ErrorBody {
  readonly error: string
  readonly code: string
  /** Only of an error about fields. */
  readonly errors: readonly FieldError[] | undefined
}

/** @param error as clients may see it: `forClient()` */
export function toErrorBody({ message, code, errors }: HttpError): ErrorBody {
  return { error: message, code, errors }
}

/** The code of a status, if an error has no code of its own. */
function codeOfStatus(status: number): string {
  // As in GraphQL: the caller is unknown.
  if (status === 401) return 'UNAUTHENTICATED'
  return reasonPhrase(status)
    .toUpperCase()
    .replace(/[^A-Z]+/g, '_')
}

/** Returns the standard phrase of an error status (RFC 9110 §15), or `Error` for a status without one. */
export function reasonPhrase(status: number): string {
  return phrases[status] ?? 'Error'
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
  417: 'Expectation failed',
  421: 'Misdirected request',
  422: 'Unprocessable content',
  423: 'Locked',
  424: 'Failed dependency',
  425: 'Too early',
  426: 'Upgrade required',
  428: 'Precondition required',
  429: 'Too many requests',
  431: 'Request header fields too large',
  451: 'Unavailable for legal reasons',
  500: 'Internal server error',
  501: 'Not implemented',
  502: 'Bad gateway',
  503: 'Service unavailable',
  504: 'Gateway timeout',
  505: 'HTTP version not supported',
  507: 'Insufficient storage',
}
