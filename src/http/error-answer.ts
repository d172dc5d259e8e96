/** Turns an error into the client's answer. Source: decisions, Responses and "Errors"; RFC 9457. */
import { HttpError, reasonPhrase } from '../errors/http-error.js'
import { withoutHiddenErrors } from '../errors/field-errors.js'
import { diskFull, isDiskFull } from './disk-full.js'
import { assertHeader } from './header-list.js'

export interface ErrorAnswer {
  readonly status: number
  /** Names and values in turn, `Content-Type` first. */
  readonly headers: readonly string[]
  /** JSON. */
  readonly body: string
}

const json = 'application/json; charset=utf-8'
const problemJson = 'application/problem+json'

/**
 * @param error an `HttpError` is sent to the client; any other error is masked, except a full disk
 * @param accept the request's `Accept`; `application/problem+json` in it makes the body an RFC 9457 one
 * @throws {TypeError} when the error brings a header that cannot be sent
 */
export function toErrorAnswer(error: unknown, accept: string | undefined): ErrorAnswer {
  const httpError = toHttpError(error)
  const asProblem = accept !== undefined && prefersProblem(accept)
  const headers = ['Content-Type', asProblem ? problemJson : json]
  for (const [name, value] of Object.entries(httpError.headers ?? {})) {
    assertHeader(name, value)
    headers.push(name, value)
  }
  const plain = { error: httpError.message, errors: httpError.errors }
  const body = JSON.stringify(asProblem ? Object.assign(toProblem(httpError), plain) : plain)
  return { status: httpError.status, headers, body }
}

const masked = new HttpError(500)

/** @returns the error as a client may see it: any that is not an `HttpError` is masked */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return withoutHiddenErrors(error)
  return isDiskFull(error) ? diskFull(error) : masked
}

/** The members of RFC 9457 §3.1, and the error's stable code. */
function toProblem({ status, message, code }: HttpError): object {
  return { type: 'about:blank', title: reasonPhrase(status), status, detail: message, code }
}

/** True when problem+json is named, and liked no less than application/json. */
function prefersProblem(accept: string): boolean {
  if (!accept.toLowerCase().includes(problemJson)) return false
  const quality = qualityOf(accept, problemJson) ?? 0
  return quality > 0 && quality >= (qualityOf(accept, 'application/json') ?? 0)
}

/** The `q` of a media range (RFC 9110 §12.4.2), undefined when it is not named. */
function qualityOf(accept: string, mediaType: string): number | undefined {
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    if (type !== mediaType) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = weight === undefined ? 1 : Number(weight.slice(2))
    return Number.isNaN(quality) ? 1 : quality
  }
  return undefined
}
