/** A response that is ready but not sent yet, for interceptors before the gate and before the body. */
import { isPlainData, toJson, writeFor } from './response-body.js'
import { assertInterceptedHeader, removeHeader, valuesOf } from './response-head.js'
import type { ServerRequest } from './server-request.js'

/** The headers of a response. Names in any case. */
export interface RouteResponseHeaders extends Iterable<readonly [name: string, value: string]> {
  /** The value; several values of one header are joined by `, `. `undefined` if there is none. */
  get(name: string): string | undefined
  /**
   * Replaces all values of the header.
   *
   * @throws {TypeError} when the name or the value cannot be sent, or Filigree writes the header itself
   */
  set(name: string, value: string | number): void
  /** Adds a value to the present ones. @throws {TypeError} as `set` */
  append(name: string, value: string | number): void
  delete(name: string): void
}

/** `FreshToken`, or `Set-Cookie` with the token's cookie. */
export interface RotationHeader {
  readonly name: string
  readonly value: string
}

/** The result of `next()` before the gate and before the body, whether a value, an error or the gate caused it. */
export interface RouteResponse {
  readonly status: number
  /**
   * All headers except CORS headers, which every response has. Includes `Access-Control-Expose-Headers` if it adds to
   * them.
   */
  readonly headers: RouteResponseHeaders
  /** Text (JSON for data), bytes, a stream, or null without a body. */
  readonly body: unknown
  /**
   * The header with the caller's next token, if the framework added one. Undefined if there is none, and for a token
   * that the handler sent.
   */
  readonly rotation: RotationHeader | undefined
  /**
   * Returns a copy with another body, and with `Content-Type` and all other headers unchanged.
   *
   * @param body text, bytes, a stream, data (sent as JSON), or null
   */
  withBody(body: unknown, status?: number): RouteResponse
}

/** The parts of a response. */
export interface ResponseParts {
  /** The request of the response. */
  readonly request?: ServerRequest | undefined
  readonly status: number
  /** Names and values in turn, without `Content-Length` and CORS. */
  readonly list: string[]
  readonly body: unknown
  /** The number of bytes of a stream, if known. */
  readonly length: number | undefined
  /** Headers that were collected on the request and are in `list` already. */
  readonly collected: { readonly from: readonly string[] | undefined; readonly count: number }
}

/** The result of `next()` and `withBody`. */
export class PreparedResponse implements RouteResponse {
  readonly status: number
  readonly headers: RouteResponseHeaders
  readonly body: unknown
  readonly parts: ResponseParts

  constructor(parts: ResponseParts) {
    this.status = parts.status
    this.headers = new ListedHeaders(parts.list, lengthOf(parts))
    this.body = parts.body
    this.parts = parts
  }

  get rotation(): RotationHeader | undefined {
    return this.parts.request?.rotation
  }

  withBody(body: unknown, status = this.status): PreparedResponse {
    const list = [...this.parts.list]
    const content = isPlainData(body) ? writeFor(this.parts.request, toJson, body) : (body ?? null)
    return new PreparedResponse({ ...this.parts, status, list, body: content, length: undefined })
  }
}

/** Bytes of the body; undefined for a stream of unknown length. */
function lengthOf({ body, length }: ResponseParts): number | undefined {
  if (body === null) return 0
  return typeof body === 'string' || body instanceof Uint8Array ? Buffer.byteLength(body) : length
}

class ListedHeaders implements RouteResponseHeaders {
  readonly #list: string[]
  readonly #length: number | undefined

  constructor(list: string[], length: number | undefined) {
    this.#list = list
    this.#length = length
  }

  get(name: string): string | undefined {
    const values = valuesOf(this.#list, name)
    if (values.length > 0) return values.join(', ')
    const isLength = this.#length !== undefined && /^content-length$/i.test(name)
    return isLength ? String(this.#length) : undefined
  }

  set(name: string, value: string | number): void {
    const text = String(value)
    assertInterceptedHeader(name, text)
    removeHeader(this.#list, name)
    this.#list.push(name, text)
  }

  append(name: string, value: string | number): void {
    const text = String(value)
    assertInterceptedHeader(name, text)
    this.#list.push(name, text)
  }

  delete(name: string): void {
    removeHeader(this.#list, name)
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    for (let index = 0; index + 1 < this.#list.length; index += 2) {
      yield [this.#list[index] ?? '', this.#list[index + 1] ?? '']
    }
  }
}
