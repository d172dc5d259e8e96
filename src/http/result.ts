/**
 * Converts a handler's result to a response: status, headers and a body of text, bytes or a stream. Releases streams
 * that are not sent. Source: decisions, Responses.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { HttpError } from '../errors/http-error.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import {
  isPlainData,
  rememberData,
  toJson,
  writeFor,
  isLongList,
  writeLongList,
} from './response-body.js'
import { isStream, toBytes, toChunkReader, type ChunkReader } from './chunk-reader.js'
import { EventStream } from './events.js'
import { FileBody, headersAgainstExecution, openFile } from './file-reply.js'
import { addMissing, hasHeader, type ResponseHead } from './response-head.js'
import { Reply } from './reply.js'
import { isCrossSite } from './request-origin.js'
import type { ServerRequest } from './server-request.js'
import { PreparedResponse } from './route-response.js'

/** The route's rules for responses. */
export interface ResultRule {
  /** The status of results without their own. Default 200. */
  readonly status: number
  /** Whether the route declares its result: undefined or null is then 404 `{ error }` instead of 204. */
  readonly notFoundWhenEmpty: boolean
  /** Whether JSON responses with status 200 get an ETag, and 304 if the client has it. Default false. */
  readonly etag?: boolean
}

/** The content of a response. */
export interface Content extends ResponseHead {
  /** Text, bytes, a blob or a stream; `''` if there is none. */
  readonly body: string | Uint8Array | object
}

const jsonType = 'application/json; charset=utf-8'
const textType = 'text/plain; charset=utf-8'
const binaryType = 'application/octet-stream'

/**
 * @returns synchronously, except for files, which are opened, and long lists, which are written in slices
 *
 * @throws errors for results that cannot be sent: a value without JSON, a returned error, 404 for no value
 */
export function toContent(
  request: ServerRequest,
  result: unknown,
  rule: ResultRule,
): MaybePromise<Content> {
  const reply = result instanceof Reply ? (result as Reply) : undefined
  if (reply !== undefined && request.setsTokenCookie) refuseCrossSiteSignIn(request, reply)
  const body = reply === undefined ? result : reply.body
  if (body === undefined || body === null) return toEmpty(reply, rule)
  if (reply === undefined && result instanceof Error) throw result
  const status = reply?.status ?? rule.status
  const replyHeaders = reply?.headers
  const type = reply?.mediaType
  // Written out, because objects made with a spread have different hidden classes, which costs more than everything
  // else here.
  if (typeof body === 'string') {
    return {
      status,
      replyHeaders,
      type: type ?? textType,
      length: Buffer.byteLength(body),
      body,
    }
  }
  if (typeof body === 'object' && isPlainData(body) && !('getReader' in body))
    return toData(request, body, reply, status)
  const bytes = toBytes(body)
  if (bytes !== undefined) {
    return {
      status,
      replyHeaders,
      type: type ?? binaryType,
      length: bytes.length,
      body: bytes,
    }
  }
  if (body instanceof FileBody) return toFile(request, body, reply, status)
  if (typeof body === 'object') {
    const streamContent = toStreamContent(body, reply, status)
    if (streamContent !== undefined) return streamContent
  }
  rememberData(body)
  return toData(request, body, reply, status)
}

function toData(
  request: ServerRequest,
  body: unknown,
  reply: Reply | undefined,
  status: number,
): MaybePromise<Content> {
  if (isLongList(body)) {
    const text = writeLongList(request, toJson, body)
    if (typeof text === 'string') return toText(text, reply, status)
    return text.then((resolved) => toText(resolved, reply, status))
  }
  return toText(writeFor(request, toJson, body), reply, status)
}

/** Prevents pages of other sites from signing their visitors in with an account of the attacker. */
function refuseCrossSiteSignIn(request: ServerRequest, reply: Reply): void {
  if (reply.signsInCrossSite || !hasHeader(reply.headers, 'FreshToken')) return
  if (!isCrossSite(request) || request.allowsCredentials) return
  const reason = 'a page of another site sent a request that would set the cookie of a token'
  throw new HttpError(403, 'Forbidden', { reason })
}

function toText(body: string, reply: Reply | undefined, status: number): Content {
  const type = reply?.mediaType ?? jsonType
  return { status, replyHeaders: reply?.headers, type, length: Buffer.byteLength(body), body }
}

function toEmpty(reply: Reply | undefined, rule: ResultRule): Content {
  if (reply?.status === undefined && rule.notFoundWhenEmpty)
    throw new HttpError(404, undefined, {
      reason: 'the handler returned null: the row does not exist, or `rows` hides it',
    })
  const status = reply?.status ?? (rule.status === 200 ? 204 : rule.status)
  return { status, replyHeaders: reply?.headers, type: reply?.mediaType, length: 0, body: '' }
}

function toStreamContent(
  body: object,
  reply: Reply | undefined,
  status: number,
): Content | undefined {
  const replyHeaders = reply?.headers
  const type = reply?.mediaType
  if (body instanceof EventStream)
    return { status, replyHeaders, type, length: reply?.length, body }
  if (body instanceof Blob) {
    const blobType = body.type === '' ? binaryType : body.type
    return { status, replyHeaders, type: type ?? blobType, length: body.size, body }
  }
  if (!isStream(body)) return undefined
  return {
    status,
    replyHeaders,
    type: type ?? binaryType,
    length: reply?.length,
    body,
  }
}

function toFile(
  request: ServerRequest,
  body: FileBody,
  reply: Reply | undefined,
  ruled: number,
): Promise<Content> {
  return openFile(request, body).then((opened) => {
    const replyHeaders = [...(reply?.headers ?? [])]
    addMissing(replyHeaders, opened.headers)
    const status = opened.status === 200 ? ruled : opened.status
    const type = reply?.mediaType ?? opened.type
    addMissing(replyHeaders, headersAgainstExecution(body, type))
    return { status, replyHeaders, type, length: opened.length, body: opened.stream }
  })
}

/** Cancels the stream in a result, if there is one. Never throws. */
export function discard(result: unknown): void {
  const body = bodyOf(result)
  if (typeof body !== 'object' || body === null) return
  try {
    toReader(body)?.cancel()
  } catch {
    // A locked web stream is released by its reader.
  }
}

/** The body of a reply or response, otherwise the value itself. */
function bodyOf(value: unknown): unknown {
  return value instanceof Reply || value instanceof PreparedResponse ? value.body : value
}

/** @returns undefined if the body is not a stream */
export function toReader(body: object): ChunkReader | undefined {
  if (body instanceof EventStream) return body.reader
  return toChunkReader(body instanceof Blob ? body.stream() : body)
}

/**
 * Remembers a stream in a result, because an interceptor may replace it, and the asynchronous context of the caller, in
 * which the stream is read: `als.run(store, next)` in an interceptor covers a generator that the handler returns. Does
 * nothing if there is no stream.
 */
export function rememberStream(request: ServerRequest, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const body = bodyOf(value)
  if (typeof body !== 'object' || body === null) return
  if (!(body instanceof EventStream) && !isStream(body)) return
  if (request.answered) {
    discard(body)
    return
  }
  request.returnedStreams ??= []
  // The innermost call comes first, in the context of the handler.
  if (request.returnedStreams.some((stream) => stream.body === body)) return
  request.returnedStreams.push({ body, runInContext: AsyncLocalStorage.snapshot() })
}

/**
 * Closes the remembered streams, except the one that was sent. Call it after the response was sent, because the
 * response may read from them, for example to compress one.
 */
export function releaseUnsentStreams(request: ServerRequest, sent: unknown): void {
  const current = bodyOf(sent)
  const streams = request.returnedStreams ?? []
  request.returnedStreams = streams.filter(({ body }) => body === current)
  for (const { body } of streams) {
    if (body === current) continue
    if (request.outgoing.destroyed || request.outgoing.writableFinished) discard(body)
    else {
      request.onFinished(() => {
        discard(body)
      })
    }
  }
}
