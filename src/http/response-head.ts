/**
 * Completes the headers of a response: type and length of the body, CORS, cookies, headers that were collected on the
 * request, and cache rules. Source: RFC 9110 §6.4.1 and §8.6.
 */
import { addCacheHeaders, mergeCacheHeaders, onAccept } from './cache-headers.js'
import { toTokenCookie } from './token-cookie.js'
import type { Cors } from './cors.js'
import { HeaderList } from './header-list.js'
import type { PreparedResponse } from './route-response.js'
import { requestIdHeader, type ServerRequest } from './server-request.js'

/** Sent with every response, so that browsers do not guess its type. Source: Fetch standard, §3.6. */
export const noSniff = Object.freeze(['X-Content-Type-Options', 'nosniff'] as const)

/** Statuses whose responses end with their head. */
export function isBodyless(status: number): boolean {
  return status === 204 || status === 304
}

export class ResponseHeads {
  readonly #cors: Cors
  /** The headers of every text response. */
  readonly #text: HeaderList

  constructor(cors: Cors) {
    this.#cors = cors
    this.#text = HeaderList.forTexts([noSniff, ...(cors.fixed ?? [])])
  }

  /**
   * The fast path: the headers of a text without headers of its own.
   *
   * @param length bytes
   */
  ofText(
    request: ServerRequest,
    type: string,
    length: number,
    tag: string | undefined,
  ): HeaderList {
    const headers = this.#text.copyForText(type, length)
    if (this.#cors.fixed === undefined) headers.addAll(this.#cors.headersFor(request))
    if (tag !== undefined) headers.add('ETag', tag)
    const collected = request.response.headers
    if (collected === undefined) addCacheHeaders(headers, request)
    else if (collected.hasOnly(requestIdHeader)) {
      // The only collected header is the request id, which needs no merging.
      headers.addAll(collected)
      addCacheHeaders(headers, request)
    } else {
      headers.collect(collected)
      finish(headers, request, request.response.varyBits)
    }
    if (tag !== undefined || collected !== undefined) this.#cors.exposePresent(headers)
    return headers
  }

  /** @returns the headers to send. A response that interceptors have seen stays as it is */
  complete(request: ServerRequest, response: PreparedResponse): HeaderList {
    const { status, length, list, isPrepared } = response
    const headers = isPrepared ? list.copy() : list
    if (length !== undefined && !isBodyless(status)) headers.add('Content-Length', String(length))
    if (!isPrepared) addDefaults(headers, request)
    headers.addAll(this.#cors.headersFor(request))
    if (request.response.headers !== undefined) headers.collect(request.response.headers)
    this.#cors.exposePresent(headers)
    finish(headers, request, request.response.varyBits)
    return headers
  }

  /** Completes a response for interceptors, which see everything but CORS headers. */
  prepare(request: ServerRequest, response: PreparedResponse): PreparedResponse {
    const { list } = response
    addDefaults(list, request)
    if (request.response.headers !== undefined) list.collect(request.response.headers)
    // A cache before the handler stores one representation. `Accept` is named when the response is sent.
    finish(list, request, request.response.varyBits & ~onAccept)
    response.markPrepared(request)
    return response
  }
}

function addDefaults(headers: HeaderList, request: ServerRequest): void {
  if (!headers.has(noSniff[0])) headers.add(...noSniff)
  if (!request.setsTokenCookie) return
  const token = headers.first('FreshToken')
  if (token !== undefined) headers.add('Set-Cookie', toTokenCookie(request, token))
}

function finish(headers: HeaderList, request: ServerRequest, varyBits: number): void {
  const { basePath } = request
  const location = basePath === '' ? undefined : headers.first('Location')
  if (location !== undefined) headers.set('Location', withBasePath(location, basePath))
  mergeCacheHeaders(headers, request, varyBits)
}

/** Adds the application's prefix to an address that begins with one slash, unless it is there already. */
export function withBasePath(address: string, basePath: string): string {
  if (basePath === '' || !/^\/(?![/\\])/.test(address)) return address
  const hasPrefix =
    address.startsWith(basePath) && /^(?:[/?#]|$)/.test(address.slice(basePath.length))
  return hasPrefix ? address : basePath + address
}
