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
import { EventStream, SourceStream } from './events.js'
import { FileBody, headersAgainstExecution } from './file-reply.js'
import { openFile } from './open-file.js'
import { HeaderList } from './header-list.js'
import { Reply } from './reply.js'
import { isCrossSite } from './request-origin.js'
import type { ServerRequest } from './server-request.js'
import { isBodyless } from './response-head.js'
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

const jsonType = 'application/json; charset=utf-8'
const textType = 'text/plain; charset=utf-8'
const binaryType = 'application/octet-stream'

/**
 * @returns synchronously, except for files, which are opened, and long lists, which are written in slices
 *
 * @throws errors for results that cannot be sent: a value without JSON, a returned error, 404 for no value
 */
export function toResponse(
  request: ServerRequest,
  result: unknown,
  rule: ResultRule,
): MaybePromise<PreparedResponse> {
  const reply = result instanceof Reply ? (result as Reply) : undefined
  if (reply !== undefined && request.setsTokenCookie) checkSameSite(request, reply)
  const body = reply === undefined ? result : reply.body
  if (body === undefined || body === null) return toEmptyResponse(reply, rule)
  if (reply === undefined && result instanceof Error) throw result
  const status = reply?.status ?? rule.status
  if (typeof body === 'string') return toTextResponse(body, reply, status, textType)
  if (typeof body === 'object' && isPlainData(body) && !('getReader' in body))
    return toDataResponse(request, body, reply, status)
  const bytes = toBytes(body)
  if (bytes !== undefined) {
    const list = headersOf(reply, status, binaryType)
    return new PreparedResponse(status, list, bytes, bytes.length)
  }
  if (body instanceof FileBody) return toFileResponse(request, body, reply, status)
  if (typeof body === 'object') {
    const response = toStreamResponse(body, reply, status)
    if (response !== undefined) return response
  }
  rememberData(body)
  return toDataResponse(request, body, reply, status)
}

/** True for lists and objects; false for bytes, files and streams, which are sent unchanged, and for errors. */
export function isJsonBody(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || value instanceof Error) return false
  if (isPlainData(value) && !('getReader' in value)) return true
  const isBytes = ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob
  if (isBytes || value instanceof FileBody || isEvents(value) || isStream(value)) return false
  rememberData(value)
  return true
}

/** @param type the `Content-Type` if the reply sets none */
export function toTextResponse(
  text: string,
  reply: Reply | undefined,
  status: number,
  type: string,
): PreparedResponse {
  const list = headersOf(reply, status, type)
  return new PreparedResponse(status, list, text === '' ? null : text, Buffer.byteLength(text))
}

/** A copy of the reply's headers, with `Content-Type`. */
function headersOf(reply: Reply | undefined, status: number, type: string | undefined): HeaderList {
  const list = reply === undefined ? new HeaderList() : new HeaderList([...reply.headers.flat])
  const mediaType = reply?.mediaType ?? type
  if (mediaType !== undefined && !isBodyless(status)) list.add('Content-Type', mediaType)
  return list
}

function toDataResponse(
  request: ServerRequest,
  body: unknown,
  reply: Reply | undefined,
  status: number,
): MaybePromise<PreparedResponse> {
  const text = isLongList(body)
    ? writeLongList(request, toJson, body)
    : writeFor(request, toJson, body)
  if (typeof text === 'string') return toTextResponse(text, reply, status, jsonType)
  return text.then((resolved) => toTextResponse(resolved, reply, status, jsonType))
}

/**
 * Prevents pages of other sites from signing their visitors in with an account of the attacker.
 *
 * @throws {HttpError} 403
 */
function checkSameSite(request: ServerRequest, reply: Reply): void {
  if (reply.signsInCrossSite || !reply.headers.has('FreshToken')) return
  if (!isCrossSite(request) || request.allowsCredentials) return
  const reason = 'a page of another site sent a request that would set the cookie of a token'
  throw new HttpError(403, 'Forbidden', { reason })
}

function toEmptyResponse(reply: Reply | undefined, rule: ResultRule): PreparedResponse {
  if (reply?.status === undefined && rule.notFoundWhenEmpty)
    throw new HttpError(404, undefined, {
      reason: 'the handler returned null: the row does not exist, or `rows` hides it',
    })
  const status = reply?.status ?? (rule.status === 200 ? 204 : rule.status)
  return new PreparedResponse(status, headersOf(reply, status, undefined), null, 0)
}

function toStreamResponse(
  body: object,
  reply: Reply | undefined,
  status: number,
): PreparedResponse | undefined {
  if (isEvents(body))
    return new PreparedResponse(status, headersOf(reply, status, undefined), body, reply?.length)
  if (body instanceof Blob) {
    const type = body.type === '' ? binaryType : body.type
    return new PreparedResponse(status, headersOf(reply, status, type), body, body.size)
  }
  if (!isStream(body)) return undefined
  const list = headersOf(reply, status, binaryType)
  return new PreparedResponse(status, list, body, reply?.length)
}

async function toFileResponse(
  request: ServerRequest,
  body: FileBody,
  reply: Reply | undefined,
  routeStatus: number,
): Promise<PreparedResponse> {
  const opened = await openFile(request, body)
  const status = opened.status === 200 ? routeStatus : opened.status
  const list = headersOf(reply, status, opened.type)
  list.addMissing(opened.headers)
  list.addMissing(headersAgainstExecution(body, reply?.mediaType ?? opened.type))
  return new PreparedResponse(status, list, opened.stream, opened.length)
}

/** Cancels the stream in a result, if there is one. Never throws. */
export function discardResult(result: unknown): void {
  const body = bodyOf(result)
  if (typeof body !== 'object' || body === null) return
  try {
    if (body instanceof SourceStream) body.source.cancel()
    else toReader(body)?.cancel()
  } catch {
    // A locked web stream is released by its reader.
  }
}

/** The body of a reply or response, otherwise the value itself. */
function bodyOf(value: unknown): unknown {
  return value instanceof Reply || value instanceof PreparedResponse ? value.body : value
}

function isEvents(body: unknown): boolean {
  return body instanceof EventStream || body instanceof SourceStream
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
  if (!isEvents(body) && !isStream(body)) return
  if (request.answered) {
    discardResult(body)
    return
  }
  request.response.streams ??= []
  // The innermost call comes first, in the context of the handler.
  if (request.response.streams.some((stream) => stream.body === body)) return
  request.response.streams.push({ body, runInContext: AsyncLocalStorage.snapshot() })
}

/**
 * Closes the remembered streams, except the one that was sent. Call it after the response was sent, because the
 * response may read from them, for example to compress one.
 */
export function releaseUnsentStreams(request: ServerRequest, sent: unknown): void {
  const current = bodyOf(sent)
  const streams = request.response.streams ?? []
  request.response.streams = streams.filter(({ body }) => body === current)
  for (const { body } of streams) {
    if (body === current) continue
    if (request.outgoing.destroyed || request.outgoing.writableFinished) discardResult(body)
    else {
      request.onFinished(() => {
        discardResult(body)
      })
    }
  }
}
