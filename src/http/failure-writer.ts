/** Answers an error, whatever state the request is in. Source: decisions, Responses. */

import { HttpError, reasonPhrase } from '../errors/http-error.js'
import {
  withoutHiddenErrors,
  attributeWriteError,
  hasHiddenErrors,
} from '../errors/field-errors.js'
import { diskFull, isDiskFull, isRefusal } from './refusals.js'
import { assertHeader, setHeader } from './header-list.js'
import { type Sending, endWith } from './end-with.js'
import type { Incoming } from './node-messages.js'
import type { Cors } from './cors.js'
import { applyForm, type FormOfErrors } from './error-form.js'
import { fieldsOf, isDebugged, type Log } from '../core/log.js'
import type { ServerRequest } from './server-request.js'
import { isBodyless, toHead } from './response-head.js'

/** Turns an error into the client's answer. Source: decisions, Responses; RFC 9457. */

interface ErrorAnswer {
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
function toHttpError(error: unknown): HttpError {
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

/**
 * Answers before the request's body was read. Closing a connection with unread bytes resets it, and a reset can eat the
 * answer: so the whole answer is sent, some of the body is read and thrown away, then the connection ends. Source: RFC
 * 9112 §9.6.
 */

/** Bytes of an unread body that Node may take in by itself, so that the connection can be kept. */
const smallBody = 64 * 1024

/** Bytes that are taken in and thrown away before the connection ends. */
const maxDrained = 1024 * 1024

/** Milliseconds for that. */
const drainTime = 1000

/** How much of the body may still be on its way: nothing, at most 64 KiB, or more and perhaps without end. */
export function unreadBody(incoming: Incoming): 'none' | 'small' | 'large' {
  if (incoming.readableEnded || incoming.destroyed) return 'none'
  if (incoming.headers['transfer-encoding'] !== undefined) return 'large'
  const length = Number(incoming.headers['content-length'] ?? 0)
  if (length === 0) return 'none'
  return length <= smallBody ? 'small' : 'large'
}

/**
 * Sends a whole answer, drains the body for a while and ends the response then.
 *
 * @param headers with `Content-Length`, by which the client knows that it has all, and `Connection: close`
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
  drain(incoming, () => {
    if (!outgoing.destroyed) outgoing.end()
  })
}

function drain(incoming: Incoming, done: () => void): void {
  let drained = 0
  const finish = () => {
    clearTimeout(timer)
    incoming.off('data', count)
    for (const event of ends) incoming.off(event, finish)
    incoming.on('error', () => undefined)
    done()
  }
  const count = (chunk: Uint8Array) => {
    drained += chunk.length
    if (drained >= maxDrained) finish()
  }
  const timer = setTimeout(finish, drainTime).unref()
  // Whoever was reading is not any more.
  incoming.unpipe()
  for (const event of ends) incoming.on(event, finish)
  incoming.on('data', count)
  incoming.resume()
}

const ends = ['end', 'close', 'error'] as const

/** Statuses after which the connection is not kept: the client is too slow, or sends too much. */
const closing: readonly number[] = [408, 413, 431]

export class FailureWriter {
  readonly #cors: Cors
  readonly #log: Log
  readonly #errors: FormOfErrors | undefined

  constructor(cors: Cors, log: Log, errors?: FormOfErrors) {
    this.#cors = cors
    this.#log = log
    this.#errors = errors
  }

  /** Logs the error if the client does not see it, then answers, or cuts off an answer that has begun. Never throws. */
  answer(request: ServerRequest, thrown: unknown): void {
    const { outgoing } = request
    const error = attributedError(request, thrown)
    this.#logSafely(request, error)
    if (outgoing.destroyed || outgoing.writableEnded) return
    if (outgoing.headersSent) {
      // What was announced cannot be kept, so the client must see that the answer is cut off; what was written in this
      // turn goes out before.
      setImmediate(() => outgoing.destroy())
      return
    }
    try {
      this.#sendError(request, this.#toAnswer(request, error))
    } catch (cause) {
      this.#sendLastResort(request, cause)
    }
  }

  /**
   * What the client is told of an error, for those who see it before it is sent; the log is told now. Never throws.
   */
  describe(request: ServerRequest, thrown: unknown): ErrorAnswer {
    const error = attributedError(request, thrown)
    this.#logSafely(request, error)
    try {
      return this.#toAnswer(request, error)
    } catch (cause) {
      this.#logSafely(request, cause)
      request.responseHeaders = ['X-Request-Id', request.id]
      return toErrorAnswer(cause, undefined)
    }
  }

  /** Sends a whole answer that may come before the request's body was read. */
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

  /** What reads the response of a request within another expects the standard form. */
  #toAnswer(request: ServerRequest, error: unknown): ErrorAnswer {
    const errors = this.#errors
    const isInner = request.incoming.isTunneled === true || request.parentRequest !== undefined
    if (errors === undefined || isInner || !errors.applies(request.route))
      return toErrorAnswer(error, request.incoming.headers.accept)
    const clientError = toHttpError(error)
    const formed = applyForm(errors.form, clientError, request)
    const { headers } = toErrorAnswer(clientError, undefined)
    // What ends the connection is the error, whatever status the form gives it.
    const ends = closing.includes(clientError.status) ? ['Connection', 'close'] : []
    return { ...formed, headers: [...headers, ...ends] }
  }

  #sendError(request: ServerRequest, { status, headers, body }: ErrorAnswer): void {
    const length = Buffer.byteLength(body)
    const parts = { status, own: headers, type: undefined, length }
    this.write(request, status, toHead(this.#cors, request, parts), body)
  }

  /** When even the error's answer cannot be sent, because of a header: the masked one, without any of the headers. */
  #sendLastResort(request: ServerRequest, cause: unknown): void {
    const { outgoing } = request
    this.#logSafely(request, cause)
    request.responseHeaders = ['X-Request-Id', request.id]
    // Node keeps the phrase of a status that it then refused to send.
    if ('statusMessage' in outgoing) outgoing.statusMessage = ''
    try {
      this.#sendError(request, toErrorAnswer(cause, undefined))
    } catch {
      outgoing.destroy()
    }
  }

  /** What was thrown may throw in its turn when it is looked at: a proxy, a getter. */
  #logSafely(request: ServerRequest, error: unknown): void {
    try {
      this.#report(request, error)
    } catch {
      const { method, path } = request
      this.#log.error({ requestId: request.id, method, path }, 'request failed')
    }
  }

  /** Errors that the client sees are told at debug, with the reason that it is not told; all others are errors. */
  #report(request: ServerRequest, error: unknown): void {
    const { method, path } = request
    if (error instanceof HttpError && (error.status < 500 || isRefusal(error))) {
      const { status, code, cause } = error
      if (cause !== undefined && hasHiddenErrors(error)) {
        const about = { ...fieldsOf(request), err: error, method, path }
        this.#log.warn(about, 'a fault of hidden fields was not told')
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

/** Which rule refused, and what it found. */
function reasonOf({ reason, message, errors }: HttpError, { route }: ServerRequest): string {
  if (reason !== undefined) return reason
  const fieldErrors = errors?.map(({ path, code }) => `${path} ${code}`).join(', ')
  if (fieldErrors !== undefined && fieldErrors !== '') return `${message} (${fieldErrors})`
  return route === undefined ? `no route: ${message}` : message
}

/** A fault of a write is the program's where the client has not sent the value. What was thrown may throw. */
function attributedError(request: ServerRequest, thrown: unknown): unknown {
  const { route, sentBody, body } = request
  if (route === undefined) return thrown
  try {
    return attributeWriteError(thrown, [sentBody ?? body, request.sentQuery], route)
  } catch {
    return thrown
  }
}

/** By name, because a signal's reason is a DOMException, which need be no Error here. */
function isAbort(error: unknown): boolean {
  return (error as { name?: unknown } | null | undefined)?.name === 'AbortError'
}
