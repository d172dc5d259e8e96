/** Sends error responses in any state of the request. Source: decisions, Responses. */
import { HttpError, reasonPhrase } from '../errors/http-error.js'
import { attributeWriteError } from '../errors/field-errors.js'
import { diskFull, isDiskFull, isRefusal } from './refusals.js'
import {
  addMissing,
  assertHeader,
  onAccept,
  setHeader,
  isBodyless,
  toHead,
} from './response-head.js'
import { type Sending, endWith } from './response-body.js'
import { drain } from './drain.js'
import type { Incoming } from './node-messages.js'
import type { Cors } from './cors.js'
import { applyForm, toClientError, type FormOfErrors } from './error-form.js'
import { acceptsPage, type ErrorPages } from './error-page.js'
import { fieldsOf, isDebugged, type Log } from '../core/log.js'
import type { ServerRequest } from './server-request.js'
import { readMediaRanges } from './accept.js'

interface ErrorResponse {
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
 * @param accept the request's `Accept`; if it contains `application/problem+json`, the body follows RFC 9457
 * @throws {TypeError} if the error has a header that cannot be sent
 */
export function toErrorResponse(error: unknown, accept: string | undefined): ErrorResponse {
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

/** @returns the error as a client may see it: any error except an `HttpError` is masked */
function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error.forClient()
  return isDiskFull(error) ? diskFull(error) : masked
}

/** The members of RFC 9457 §3.1, and the error's stable code. */
function toProblem({ status, message, code }: HttpError): object {
  return { type: 'about:blank', title: reasonPhrase(status), status, detail: message, code }
}

/** True if problem+json is accepted with at least the quality of application/json. */
function prefersProblem(accept: string): boolean {
  if (!accept.toLowerCase().includes(problemJson)) return false
  const quality = qualityOf(accept, problemJson) ?? 0
  return quality > 0 && quality >= (qualityOf(accept, 'application/json') ?? 0)
}

/** Returns the `q` of a media range (RFC 9110 §12.4.2), or undefined if the range is not listed. */
function qualityOf(accept: string, mediaType: string): number | undefined {
  for (const { type, parameters } of readMediaRanges(accept)) {
    if (type !== mediaType) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = weight === undefined ? 1 : Number(weight.slice(2))
    return Number.isNaN(quality) ? 1 : quality
  }
  return undefined
}

/** Maximum bytes of an unread body that Node may discard, so that the connection can be reused. */
const smallBody = 64 * 1024

/** Estimates how much of the body is outstanding: nothing, at most 64 KiB, or more and possibly unlimited. */
export function unreadBody(incoming: Incoming): 'none' | 'small' | 'large' {
  if (incoming.readableEnded || incoming.destroyed) return 'none'
  if (incoming.headers['transfer-encoding'] !== undefined) return 'large'
  const length = Number(incoming.headers['content-length'] ?? 0)
  if (length === 0) return 'none'
  return length <= smallBody ? 'small' : 'large'
}

/**
 * Responds before the request's body was read. Closing a connection with unread bytes resets it, and a reset can
 * discard the response. Therefore it sends the complete response first, then drains a part of the body, and then ends
 * the connection. Source: RFC 9112 §9.6.
 *
 * @param headers with `Content-Length`, which tells the client that the response is complete, and `Connection: close`
 */
function respondEarly(
  sending: Sending & { readonly incoming: Incoming },
  status: number,
  headers: string[],
  body: string | Uint8Array,
): void {
  const { incoming, outgoing } = sending
  outgoing.writeHead(status, headers)
  if (body.length > 0) outgoing.write(body)
  sending.sentBytes = Buffer.byteLength(body)
  // Detach any previous reader.
  incoming.unpipe()
  drain(incoming)(() => {
    if (!outgoing.destroyed) outgoing.end()
  })
}

/** Statuses after which the connection is closed, because the client is too slow or sends too much. */
const closing: readonly number[] = [408, 413, 431]

export class FailureWriter {
  readonly #cors: Cors
  readonly #log: Log
  readonly #errors: FormOfErrors | undefined
  readonly #pages: ErrorPages | undefined

  /** @param pages makes pages for browsers. Default: every client gets JSON */
  constructor(cors: Cors, log: Log, errors?: FormOfErrors, pages?: ErrorPages) {
    this.#cors = cors
    this.#log = log
    this.#errors = errors
    this.#pages = pages
  }

  /**
   * Logs the error if the client does not see it, then responds. Aborts a response that has already begun. Never
   * throws.
   */
  send(request: ServerRequest, thrown: unknown): void {
    const { outgoing } = request
    const error = attributedError(request, thrown)
    this.#logSafely(request, error)
    if (outgoing.destroyed || outgoing.writableEnded) return
    if (outgoing.headersSent) {
      // The response cannot be completed, so the client must see that it is cut off. Data written in this turn is sent
      // first.
      setImmediate(() => outgoing.destroy())
      return
    }
    try {
      this.#sendError(request, this.#toResponse(request, error))
    } catch (cause) {
      this.#sendLastResort(request, cause)
    }
  }

  /** Returns the error response for code that reads it before it is sent. Logs the error immediately. Never throws. */
  describe(request: ServerRequest, thrown: unknown): ErrorResponse {
    const error = attributedError(request, thrown)
    this.#logSafely(request, error)
    try {
      return this.#toResponse(request, error)
    } catch (cause) {
      this.#logSafely(request, cause)
      request.responseHeaders = ['X-Request-Id', request.id]
      return toErrorResponse(cause, undefined)
    }
  }

  /** Sends a complete response, possibly before the request's body was read. */
  write(request: ServerRequest, status: number, head: string[], body: string | Uint8Array): void {
    const { incoming, outgoing } = request
    const unread = unreadBody(incoming)
    const closes = unread === 'large' || closing.includes(status)
    if (closes) setHeader(head, 'Connection', 'close')
    const content = request.method === 'HEAD' || isBodyless(status) ? '' : body
    if (closes && unread !== 'none') {
      respondEarly(request, status, head, content)
      return
    }
    outgoing.writeHead(status, head)
    if (content.length === 0) outgoing.end()
    else endWith(request, content, Buffer.byteLength(content))
  }

  /** Internal requests expect the standard error format. */
  #toResponse(request: ServerRequest, error: unknown): ErrorResponse {
    const isInner = request.incoming.isTunneled === true || request.parentRequest !== undefined
    if (isInner) return toErrorResponse(error, request.incoming.headers.accept)
    request.dependsOn |= onAccept
    const send = this.#toJsonResponse(request, error)
    if (this.#pages === undefined || !acceptsPage(request)) return send
    const { status, headers } = send
    const clientError = { ...toClientError(toHttpError(error)), status }
    const page = this.#pages.create(request, error, clientError)
    const pageHeaders = ['Content-Type', 'text/html; charset=utf-8', ...headers.slice(2)]
    addMissing(pageHeaders, page.headers)
    return { status, headers: pageHeaders, body: page.html }
  }

  #toJsonResponse(request: ServerRequest, error: unknown): ErrorResponse {
    const errors = this.#errors
    if (errors === undefined || !errors.applies(request.route))
      return toErrorResponse(error, request.incoming.headers.accept)
    const clientError = toHttpError(error)
    const formed = applyForm(errors.form, clientError, request)
    const { headers } = toErrorResponse(clientError, undefined)
    // The error's status decides whether the connection closes, whatever status the error format uses.
    const ends = closing.includes(clientError.status) ? ['Connection', 'close'] : []
    return { ...formed, headers: [...headers, ...ends] }
  }

  #sendError(request: ServerRequest, { status, headers, body }: ErrorResponse): void {
    const length = Buffer.byteLength(body)
    const parts = { status, replyHeaders: headers, type: undefined, length }
    this.write(request, status, toHead(this.#cors, request, parts), body)
  }

  /** Sends the masked error without any extra headers, if a header prevented the error response. */
  #sendLastResort(request: ServerRequest, cause: unknown): void {
    const { outgoing } = request
    this.#logSafely(request, cause)
    request.responseHeaders = ['X-Request-Id', request.id]
    // Node stores the phrase of a status that it then refused to send.
    if ('statusMessage' in outgoing) outgoing.statusMessage = ''
    try {
      this.#sendError(request, toErrorResponse(cause, undefined))
    } catch {
      outgoing.destroy()
    }
  }

  /** Reading a thrown value may throw again, as with a proxy or a getter. */
  #logSafely(request: ServerRequest, error: unknown): void {
    try {
      this.#report(request, error)
    } catch {
      const { id: requestId, method, path, route } = request
      request.failure = error
      const about = { err: error, requestId, method, path, route: route?.name }
      this.#log.error({ ...fieldsOf(request), ...about }, 'request failed')
    }
  }

  /** Logs errors that clients see at debug level, with their internal reason. All other errors are logged as errors. */
  #report(request: ServerRequest, error: unknown): void {
    const { method, path } = request
    if (error instanceof HttpError && (error.status < 500 || isRefusal(error))) {
      const { status, code, cause } = error
      if (cause !== undefined && error.hasHiddenErrors) {
        const about = { ...fieldsOf(request), err: error, method, path }
        this.#log.warn(about, 'a validation error of hidden fields was not reported to the client')
      } else if (isDebugged(this.#log)) {
        const reason = reasonOf(error, request)
        const about = { ...fieldsOf(request), requestId: request.id, method, path, status, code }
        Object.assign(about, { route: request.route?.name, reason })
        this.#log.debug(cause === undefined ? about : { ...about, err: error }, 'request refused')
      }
      return
    }
    if (request.outgoing.destroyed && isAbort(error)) return
    request.failure = error
    const about = { ...fieldsOf(request), err: error, requestId: request.id, method, path }
    this.#log.error({ ...about, route: request.route?.name }, 'request failed')
  }
}

/** Describes which rule refused the request, and its reason. */
function reasonOf({ reason, message, errors }: HttpError, { route }: ServerRequest): string {
  if (reason !== undefined) return reason
  const fieldErrors = errors?.map(({ path, code }) => `${path} ${code}`).join(', ')
  if (fieldErrors !== undefined && fieldErrors !== '') return `${message} (${fieldErrors})`
  return route === undefined ? `no route: ${message}` : message
}

/**
 * Attributes a write's validation error to the program if the client did not send the value. Reading a thrown value may
 * throw.
 */
function attributedError(request: ServerRequest, thrown: unknown): unknown {
  const { route, sentBody, body } = request
  if (route === undefined) return thrown
  try {
    return attributeWriteError(thrown, [sentBody ?? body, request.sentQuery], route)
  } catch {
    return thrown
  }
}

/**
 * Compares by name, because a signal's reason is a DOMException, which need not be an instance of this realm's Error.
 */
function isAbort(error: unknown): boolean {
  return (error as { name?: unknown } | null | undefined)?.name === 'AbortError'
}
