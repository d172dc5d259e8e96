/** Sends error responses in any state of the request. Source: decisions, Responses. */
import { HttpError, reasonPhrase, toErrorBody } from '../errors/http-error.js'
import { attributeWriteError } from '../errors/field-errors.js'
import { diskFull, isDiskFull, isRefusal } from './refusals.js'
import { onAccept } from './cache-headers.js'
import { closingStatuses, respondEarly } from './early-response.js'
import { checkHeader } from './header-checks.js'
import { HeaderList } from './header-list.js'
import { Reply } from './reply.js'
import type { ResponseHeads } from './response-head.js'
import { toTextResponse } from './result.js'
import type { PreparedResponse } from './route-response.js'
import { formError, toClientError, type ErrorFormat } from './error-form.js'
import { acceptsPage, type ErrorPages } from './error-page.js'
import { fieldsOf, isDebugged, type Log } from '../core/log.js'
import { requestIdHeader, type ServerRequest } from './server-request.js'
import { readMediaRanges } from './accept.js'

const json = 'application/json; charset=utf-8'
const problemJson = 'application/problem+json'

/**
 * @param error an `HttpError` is sent to the client; any other error is masked, except a full disk
 * @param accept the request's `Accept`; if it contains `application/problem+json`, the body follows RFC 9457
 * @throws {TypeError} if the error has a header that cannot be sent
 */
export function toErrorReply(error: unknown, accept: string | undefined): Reply<string> {
  const httpError = toHttpError(error)
  const asProblem = accept !== undefined && prefersProblem(accept)
  const errorBody = toErrorBody(httpError)
  const body = JSON.stringify(asProblem ? { ...toProblem(httpError), ...errorBody } : errorBody)
  return createErrorReply(httpError, httpError.status, body, asProblem ? problemJson : json)
}

/** A reply with the headers of the error. */
function createErrorReply(
  { headers = {} }: HttpError,
  status: number,
  body: string,
  type: string,
): Reply<string> {
  const reply = new Reply(body, status).type(type)
  for (const [name, value] of Object.entries(headers)) {
    checkHeader(name, value)
    reply.headers.set(name, value)
  }
  return reply
}

function toResponse(reply: Reply<string>): PreparedResponse {
  return toTextResponse(reply.body, reply, reply.status ?? 500, json)
}

const masked = new HttpError(500)

/** @returns the error as a client may see it: any error except an `HttpError` is masked */
function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error.forClient()
  return isDiskFull(error) ? diskFull(error) : masked
}

/** The members of RFC 9457 §3.1. */
function toProblem({ status, message }: HttpError): object {
  return { type: 'about:blank', title: reasonPhrase(status), status, detail: message }
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

export class FailureWriter {
  readonly #heads: ResponseHeads
  readonly #log: Log
  readonly #errors: ErrorFormat | undefined
  readonly #pages: ErrorPages | undefined

  /** @param pages makes pages for browsers. Default: every client gets JSON */
  constructor(heads: ResponseHeads, log: Log, errors?: ErrorFormat, pages?: ErrorPages) {
    this.#heads = heads
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
      this.#sendReply(request, this.#toReply(request, error))
    } catch (cause) {
      this.#sendLastResort(request, cause)
    }
  }

  /** Returns the error response for code that reads it before it is sent. Logs the error immediately. Never throws. */
  describe(request: ServerRequest, thrown: unknown): PreparedResponse {
    const error = attributedError(request, thrown)
    this.#logSafely(request, error)
    try {
      return toResponse(this.#toReply(request, error))
    } catch (cause) {
      this.#logSafely(request, cause)
      request.response.headers = HeaderList.from({ [requestIdHeader]: request.id })
      return toResponse(toErrorReply(cause, undefined))
    }
  }

  /** Internal requests expect the standard error format. */
  #toReply(request: ServerRequest, error: unknown): Reply<string> {
    const isInner = request.incoming.isTunneled === true || request.parentRequest !== undefined
    if (isInner) return toErrorReply(error, request.incoming.headers.accept)
    request.response.varyOn(onAccept)
    const reply = this.#toJsonReply(request, error)
    if (this.#pages === undefined || !acceptsPage(request)) return reply
    const clientError = toClientError(toHttpError(error))
    const status = reply.status ?? clientError.status
    const page = this.#pages.create(request, error, { ...clientError, status })
    const pageReply = reply.withBody(page.html).type('text/html; charset=utf-8')
    pageReply.headers.addMissing(HeaderList.from(page.headers))
    return pageReply
  }

  #toJsonReply(request: ServerRequest, error: unknown): Reply<string> {
    const errors = this.#errors
    if (errors === undefined || !errors.appliesTo(request.route))
      return toErrorReply(error, request.incoming.headers.accept)
    const clientError = toHttpError(error)
    const { status, body } = formError(errors.form, clientError, request)
    const reply = createErrorReply(clientError, status, body, json)
    // The error's status decides whether the connection closes, whatever status the error format uses.
    if (closingStatuses.includes(clientError.status)) reply.headers.set('Connection', 'close')
    return reply
  }

  #sendReply(request: ServerRequest, reply: Reply<string>): void {
    const response = toResponse(reply)
    const headers = this.#heads.complete(request, response)
    respondEarly(request, response.status, headers, reply.body)
  }

  /** Sends the masked error without any extra headers, if a header prevented the error response. */
  #sendLastResort(request: ServerRequest, cause: unknown): void {
    const { outgoing } = request
    this.#logSafely(request, cause)
    request.response.headers = HeaderList.from({ [requestIdHeader]: request.id })
    // Node stores the phrase of a status that it then refused to send.
    if ('statusMessage' in outgoing) outgoing.statusMessage = ''
    try {
      this.#sendReply(request, toErrorReply(cause, undefined))
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
      request.response.failure = error
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
    request.response.failure = error
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
  const { route } = request
  if (route === undefined) return thrown
  try {
    return attributeWriteError(thrown, [request.sentBody, request.sentQuery], route)
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
