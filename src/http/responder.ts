/**
 * Writes responses: results and errors of handlers. Plain data, which nearly every response is, takes the fast path:
 * one prepared list of headers, one `writeHead`, one write. Source: decisions, Responses.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import type { Log } from '../core/log.js'
import { isPlainData, toJson, writeFor, endWith, isLongList } from './response-body.js'
import { PreparedResponse, type RouteResponse } from './route-response.js'
import type { Cors } from './cors.js'
import { discard, toReader, toContent, type Content, type ResultRule } from './result.js'
import type { FormOfErrors } from './error-form.js'
import type { ErrorPages } from './error-page.js'
import { eventHeartbeat, EventStream } from './events.js'
import { FailureWriter } from './failure-writer.js'
import {
  addMissing,
  entityTag,
  hasHeader,
  matchesEntityTag,
  pushPrivacy,
  setPrivacy,
  isBodyless,
  noSniff,
  prefixLocation,
  toPreparedHead,
  toHead,
  toInterceptedHead,
} from './response-head.js'
import { requestIdHeader, type ServerRequest } from './server-request.js'
import type { StreamKind, StreamRegister } from './stream-register.js'
import { streamBody } from './stream-body.js'

export interface ResponderOptions {
  readonly cors: Cors
  readonly log: Log
  /** Bounds and ends streams. Default: nothing does. */
  readonly streams?: StreamRegister
  /** The application's own form of errors. Default: the standard form. */
  readonly errors?: FormOfErrors | undefined
  /** Pages for browsers. Default: every client gets JSON. */
  readonly pages?: ErrorPages | undefined
}

export interface Responder {
  /** Sends the result of a handler. Synchronous for values. Never throws. */
  send(request: ServerRequest, result: unknown, rule: ResultRule): void
  /** Sends an error. Never throws. */
  fail(request: ServerRequest, error: unknown): void
  /** Releases a result that can no longer be sent. Never throws. */
  discard(result: unknown): void
  /** Returns the response of `send` for interceptors. Never throws nor rejects. */
  prepare(request: ServerRequest, result: unknown, rule: ResultRule): MaybePromise<RouteResponse>
  /** Returns the response of `fail` for interceptors, and logs the error. Never throws. */
  prepareFailure(request: ServerRequest, error: unknown): RouteResponse
}

export function createResponder(options: ResponderOptions): Responder {
  return new NodeResponder(options)
}

const jsonType = 'application/json; charset=utf-8'

/** The index of the value of `Content-Type` in the prepared head. */
const typeIndex = 1

/** The index of the value of `Content-Length` in the prepared head. */
const lengthIndex = 3

class NodeResponder implements Responder {
  readonly #cors: Cors
  readonly #failures: FailureWriter
  readonly #streams: StreamRegister | undefined
  /** The head of a JSON response without its length; undefined if CORS depends on the request. */
  readonly #jsonHead: string[] | undefined

  constructor({ cors, log, streams, errors, pages }: ResponderOptions) {
    this.#cors = cors
    this.#streams = streams
    this.#failures = new FailureWriter(cors, log, errors, pages)
    if (cors.fixed !== undefined) {
      this.#jsonHead = ['Content-Type', jsonType, 'Content-Length', '0', ...noSniff, ...cors.fixed]
    }
  }

  send(request: ServerRequest, result: unknown, rule: ResultRule): void {
    try {
      if (request.outgoing.headersSent || request.outgoing.destroyed) this.discard(result)
      else if (isPlainData(result) && !isBodyless(rule.status) && !isLongList(result)) {
        this.#sendJson(request, result, rule)
      } else if (result instanceof PreparedResponse) this.#sendPrepared(request, result)
      else {
        const content = toContent(request, result, rule)
        if (isThenable(content)) this.#sendDeferred(request, content, rule)
        else this.#sendContent(request, rule.etag === true ? withTag(request, content) : content)
      }
    } catch (error) {
      this.fail(request, error)
    }
  }

  fail(request: ServerRequest, error: unknown): void {
    this.#failures.send(request, error)
  }

  discard(result: unknown): void {
    discard(result)
  }

  prepare(request: ServerRequest, result: unknown, rule: ResultRule): MaybePromise<RouteResponse> {
    try {
      if (result instanceof PreparedResponse) return result
      const content = toContent(request, result, rule)
      if (!isThenable(content)) {
        return this.#toPrepared(request, rule.etag === true ? withTag(request, content) : content)
      }
      return content.then(
        (resolved) =>
          this.#toPrepared(request, rule.etag === true ? withTag(request, resolved) : resolved),
        (error: unknown) => this.prepareFailure(request, error),
      )
    } catch (error) {
      return this.prepareFailure(request, error)
    }
  }

  prepareFailure(request: ServerRequest, error: unknown): RouteResponse {
    const { status, headers, body } = this.#failures.describe(request, error)
    return this.#toPrepared(request, {
      status,
      replyHeaders: headers,
      type: undefined,
      length: undefined,
      body,
    })
  }

  #toPrepared(request: ServerRequest, content: Content): RouteResponse {
    const { status, body, length } = content
    const isText = typeof body === 'string' || body instanceof Uint8Array
    return new PreparedResponse({
      request,
      status,
      list: toInterceptedHead(request, content),
      body: body === '' ? null : body,
      length: isText ? undefined : length,
      collected: { from: request.responseHeaders, count: request.responseHeaders?.length ?? 0 },
    })
  }

  /** The fast path. */
  #sendJson(request: ServerRequest, data: unknown, { status, etag }: ResultRule): void {
    const body = writeFor(request, toJson, data)
    const tag = etag === true && status === 200 ? tagOf(request, body) : undefined
    if (tag !== undefined && hasCurrentVersion(request, tag)) {
      this.#sendContent(request, toNotModified(['ETag', tag]))
      return
    }
    const length = Buffer.byteLength(body)
    const replyHeaders = tag === undefined ? undefined : ['ETag', tag]
    const head = this.#headOf(request, {
      status,
      replyHeaders,
      type: jsonType,
      length,
    })
    request.outgoing.writeHead(status, head)
    if (request.method === 'HEAD') request.outgoing.end()
    else endWith(request, body, length)
  }

  #isPlain(content: Content): content is Content & TextHead {
    const { status, replyHeaders, type, length } = content
    const isComplete = type !== undefined && length !== undefined && !isBodyless(status)
    return isComplete && (replyHeaders === undefined || replyHeaders.length === 0)
  }

  /** The head of a text, usually a copy of the prepared head. */
  #headOf(request: ServerRequest, parts: TextHead): string[] {
    const { replyHeaders, type, length } = parts
    if (this.#jsonHead === undefined) return toHead(this.#cors, request, parts)
    const head = this.#jsonHead.slice()
    head[typeIndex] = type
    head[lengthIndex] = String(length)
    if (replyHeaders !== undefined) head.push(...replyHeaders)
    const collected = request.responseHeaders
    if (collected === undefined) pushPrivacy(head, request)
    else if (collected.length === 2 && collected[0] === requestIdHeader) {
      // The only collected header is the request id, which needs no merging.
      head.push(requestIdHeader, collected[1] ?? '')
      pushPrivacy(head, request)
    } else {
      addMissing(head, collected)
      prefixLocation(head, request.basePath)
      setPrivacy(head, request)
    }
    if (replyHeaders !== undefined || collected !== undefined) this.#cors.expose(head)
    return head
  }

  #sendDeferred(request: ServerRequest, content: PromiseLike<Content>, rule: ResultRule): void {
    Promise.resolve(content)
      .then((resolved) => {
        if (request.outgoing.destroyed) this.discard(resolved.body)
        else this.#sendContent(request, rule.etag === true ? withTag(request, resolved) : resolved)
      })
      .catch((error: unknown) => {
        this.fail(request, error)
      })
  }

  #sendContent(request: ServerRequest, content: Content): void {
    const { status, body, length } = content
    const head = (): string[] => toHead(this.#cors, request, content)
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
      this.#stream(request, body, { status, length, head })
      return
    }
    request.outgoing.writeHead(
      status,
      this.#isPlain(content) ? this.#headOf(request, content) : head(),
    )
    if (request.method === 'HEAD' || body.length === 0 || isBodyless(status)) request.outgoing.end()
    else endWith(request, body, length ?? Buffer.byteLength(body))
  }

  /** Sends the response that interceptors returned. As with errors, the request's body may not have been read. */
  #sendPrepared(request: ServerRequest, { status, body, parts }: PreparedResponse): void {
    const content = body ?? ''
    if (typeof content === 'string' || content instanceof Uint8Array) {
      const length = Buffer.byteLength(content)
      this.#failures.write(
        request,
        status,
        toPreparedHead(this.#cors, request, parts, length),
        content,
      )
      return
    }
    const { length } = parts
    const head = (): string[] => toPreparedHead(this.#cors, request, parts, length)
    this.#stream(request, content, { status, length, head })
  }

  #stream(request: ServerRequest, body: object, { status, length, head }: StreamHead): void {
    const { outgoing, method } = request
    const reader = toReader(body)
    if (reader === undefined)
      throw new TypeError('A response body must be text, bytes or a stream.')
    if (outgoing.destroyed) {
      reader.cancel()
    } else if (method === 'HEAD' || length === 0 || isBodyless(status)) {
      reader.cancel()
      outgoing.writeHead(status, head())
      outgoing.end()
    } else {
      request.beginStream()
      if (body instanceof EventStream) body.request = request
      const writeHead = (): void => {
        outgoing.writeHead(status, head())
      }
      const heartbeat = body instanceof EventStream ? eventHeartbeat : undefined
      const counted =
        length === undefined && this.#streams !== undefined
          ? this.#streams.admit(request, reader, toStreamKind(body))
          : reader
      const send = (): void => {
        streamBody(request, counted, { writeHead, length, heartbeat }).catch((error: unknown) => {
          this.fail(request, error)
        })
      }
      const returned = request.returnedStreams?.find((stream) => stream.body === body)
      if (returned === undefined) send()
      else returned.runInContext(send)
    }
  }
}

/** JSON with its ETag, or 304. A reply with its own ETag is sent unchanged. */
function withTag(request: ServerRequest, content: Content): Content {
  const { status, replyHeaders = [], type, body } = content
  if (status !== 200 || type !== jsonType || typeof body !== 'string') return content
  const tag = hasHeader(replyHeaders, 'ETag') ? undefined : tagOf(request, body)
  if (tag === undefined) return content
  const tagged = [...replyHeaders, 'ETag', tag]
  return hasCurrentVersion(request, tag)
    ? toNotModified(tagged)
    : { ...content, replyHeaders: tagged }
}

/** Only responses to reads have an ETag. */
function tagOf({ method }: ServerRequest, body: string): string | undefined {
  return method === 'GET' || method === 'HEAD' ? entityTag(body) : undefined
}

function hasCurrentVersion({ incoming }: ServerRequest, tag: string): boolean {
  return matchesEntityTag(incoming.headers['if-none-match'], tag)
}

function toNotModified(replyHeaders: string[]): Content {
  return { status: 304, replyHeaders, type: undefined, length: undefined, body: '' }
}

function toStreamKind(body: object): StreamKind {
  if (!(body instanceof EventStream)) return { isEndless: false, endsItself: false }
  return body
}

interface TextHead {
  readonly status: number
  /** Headers of the reply, none of which affects caches or redirects. */
  readonly replyHeaders: readonly string[] | undefined
  readonly type: string
  readonly length: number
}

interface StreamHead {
  readonly status: number
  /** Bytes; undefined if unknown before the end. */
  readonly length: number | undefined
  readonly head: () => string[]
}
