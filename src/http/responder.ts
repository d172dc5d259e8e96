/**
 * Writes responses: results and errors of handlers. Plain data, which nearly every response is, takes the fast path:
 * one prepared list of headers, one `writeHead`, one write. Source: decisions, Responses.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import type { Log } from '../core/log.js'
import { isPlainData, toJson, writeFor, endWith, isLongList } from './response-body.js'
import { PreparedResponse, type RouteResponse } from './route-response.js'
import type { Cors } from './cors.js'
import { respondEarly } from './early-response.js'
import { entityTag, matchesEntityTag } from './entity-tag.js'
import { discardResult, toReader, toResponse, type ResultRule } from './result.js'
import type { ErrorFormat } from './error-form.js'
import type { ErrorPages } from './error-page.js'
import { EventResponse, Heartbeats, type EventResponseOwner } from './event-source.js'
import { eventHeartbeat, EventStream, SourceStream } from './events.js'
import { FailureWriter } from './failure-writer.js'
import { HeaderList } from './header-list.js'
import { isBodyless, ResponseHeads } from './response-head.js'
import type { ServerRequest } from './server-request.js'
import type { StreamRegister } from './stream-register.js'
import { streamBody } from './stream-body.js'

export interface ResponderOptions {
  readonly cors: Cors
  readonly log: Log
  /** Bounds and ends streams. Default: nothing does. */
  readonly streams?: StreamRegister
  /** The application's own form of errors. Default: the standard form. */
  readonly errors?: ErrorFormat | undefined
  /** Pages for browsers. Default: every client gets JSON. */
  readonly pages?: ErrorPages | undefined
}

const uncounted: EventResponseOwner = { removeSource: () => undefined }

const jsonType = 'application/json; charset=utf-8'

export class Responder {
  readonly #heads: ResponseHeads
  readonly #failures: FailureWriter
  readonly #streams: StreamRegister | undefined
  readonly #heartbeats = new Heartbeats(eventHeartbeat)

  constructor({ cors, log, streams, errors, pages }: ResponderOptions) {
    this.#heads = new ResponseHeads(cors)
    this.#streams = streams
    this.#failures = new FailureWriter(this.#heads, log, errors, pages)
  }

  /** Sends the result of a handler. Synchronous for values. Never throws. */
  send(request: ServerRequest, result: unknown, rule: ResultRule): void {
    try {
      if (request.outgoing.headersSent || request.outgoing.destroyed) discardResult(result)
      else if (isPlainData(result) && !isBodyless(rule.status) && !isLongList(result)) {
        this.#sendJson(request, result, rule)
      } else if (result instanceof PreparedResponse) this.#sendResponse(request, result)
      else {
        const response = toResponse(request, result, rule)
        if (isThenable(response)) this.#sendDeferred(request, response, rule)
        else this.#sendResponse(request, tagged(request, response, rule))
      }
    } catch (error) {
      this.fail(request, error)
    }
  }

  /** Sends an error. Never throws. */
  fail(request: ServerRequest, error: unknown): void {
    this.#failures.send(request, error)
  }

  /** Returns the response of `send` for interceptors. Never throws nor rejects. */
  prepare(request: ServerRequest, result: unknown, rule: ResultRule): MaybePromise<RouteResponse> {
    try {
      if (result instanceof PreparedResponse) return result
      const response = toResponse(request, result, rule)
      if (!isThenable(response))
        return this.#heads.prepare(request, tagged(request, response, rule))
      return response.then(
        (resolved) => this.#heads.prepare(request, tagged(request, resolved, rule)),
        (error: unknown) => this.prepareFailure(request, error),
      )
    } catch (error) {
      return this.prepareFailure(request, error)
    }
  }

  /** Returns the response of `fail` for interceptors, and logs the error. Never throws. */
  prepareFailure(request: ServerRequest, error: unknown): RouteResponse {
    return this.#heads.prepare(request, this.#failures.describe(request, error))
  }

  /** The fast path. */
  #sendJson(request: ServerRequest, data: unknown, { status, etag }: ResultRule): void {
    const body = writeFor(request, toJson, data)
    const tag = etag === true && status === 200 ? tagOf(request, body) : undefined
    if (tag !== undefined && hasCurrentVersion(request, tag))
      this.#sendResponse(request, notModified(HeaderList.from({ ETag: tag })))
    else {
      const length = Buffer.byteLength(body)
      request.outgoing.writeHead(status, this.#heads.ofText(request, jsonType, length, tag).flat)
      if (request.method === 'HEAD') request.outgoing.end()
      else endWith(request, body, length)
    }
  }

  #sendDeferred(
    request: ServerRequest,
    response: PromiseLike<PreparedResponse>,
    rule: ResultRule,
  ): void {
    Promise.resolve(response)
      .then((resolved) => {
        if (request.outgoing.destroyed) discardResult(resolved)
        else this.#sendResponse(request, tagged(request, resolved, rule))
      })
      .catch((error: unknown) => {
        this.fail(request, error)
      })
  }

  #sendResponse(request: ServerRequest, response: PreparedResponse): void {
    const { body, length, list, status } = response
    if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) {
      this.#stream(request, response, body)
      return
    }
    const type = list.hasOnly('Content-Type') ? list.first('Content-Type') : undefined
    const isPlain = type !== undefined && length !== undefined && !response.isPrepared
    const headers = isPlain
      ? this.#heads.ofText(request, type, length, undefined)
      : this.#heads.complete(request, response)
    if (response.isPrepared) {
      // As with errors, the request's body may not have been read.
      respondEarly(request, status, headers, body ?? '')
      return
    }
    request.outgoing.writeHead(status, headers.flat)
    if (request.method === 'HEAD' || body === null || isBodyless(status)) request.outgoing.end()
    else endWith(request, body, length ?? Buffer.byteLength(body))
  }

  #stream(request: ServerRequest, response: PreparedResponse, body: object): void {
    const { outgoing, method } = request
    const { status, length } = response
    if (body instanceof SourceStream) {
      this.#startSource(request, response, body)
      return
    }
    const reader = toReader(body)
    if (reader === undefined)
      throw new TypeError('A response body must be text, bytes or a stream.')
    if (outgoing.destroyed) {
      reader.cancel()
      return
    }
    const writeHead = (): void => {
      outgoing.writeHead(status, this.#heads.complete(request, response).flat)
    }
    if (method === 'HEAD' || length === 0 || isBodyless(status)) {
      reader.cancel()
      writeHead()
      outgoing.end()
      return
    }
    request.beginStream()
    if (body instanceof EventStream) body.request = request
    const heartbeat = body instanceof EventStream ? eventHeartbeat : undefined
    const counted =
      length === undefined && this.#streams !== undefined
        ? this.#streams.admit(request, reader, body instanceof EventStream && body.isEndless)
        : reader
    const send = (): void => {
      streamBody(request, counted, { writeHead, length, heartbeat }).catch((error: unknown) => {
        this.fail(request, error)
      })
    }
    const returned = request.response.streams?.find((stream) => stream.body === body)
    if (returned === undefined) send()
    else returned.runInContext(send)
  }

  #startSource(request: ServerRequest, response: PreparedResponse, { source }: SourceStream): void {
    const { outgoing, method } = request
    const sendsBody = method !== 'HEAD' && !outgoing.destroyed
    if (!sendsBody) source.cancel()
    else request.beginStream()
    const events = sendsBody
      ? (this.#streams?.admitSource(request, source) ??
        new EventResponse(request, source, '', uncounted))
      : undefined
    if (outgoing.destroyed) return
    outgoing.writeHead(response.status, this.#heads.complete(request, response).flat)
    if (events === undefined) outgoing.end()
    else events.start(this.#heartbeats)
  }
}

/** JSON with its ETag, or 304, if the route wants tags. A reply with its own ETag is sent unchanged. */
function tagged(
  request: ServerRequest,
  response: PreparedResponse,
  rule: ResultRule,
): PreparedResponse {
  const { status, list, body } = response
  if (rule.etag !== true || status !== 200 || typeof body !== 'string') return response
  if (list.first('Content-Type') !== jsonType || list.has('ETag')) return response
  const tag = tagOf(request, body)
  if (tag === undefined) return response
  list.add('ETag', tag)
  return hasCurrentVersion(request, tag) ? notModified(list) : response
}

/** Only responses to reads have an ETag. */
function tagOf({ method }: ServerRequest, body: string): string | undefined {
  return method === 'GET' || method === 'HEAD' ? entityTag(body) : undefined
}

function hasCurrentVersion({ incoming }: ServerRequest, tag: string): boolean {
  return matchesEntityTag(incoming.headers['if-none-match'], tag)
}

function notModified(list: HeaderList): PreparedResponse {
  list.delete('Content-Type')
  return new PreparedResponse(304, list, null, undefined)
}
