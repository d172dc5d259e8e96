/** A response that is not sent yet, and its form for interceptors before the gate and before the body. */
import { checkInterceptedHeader } from './header-checks.js'
import type { HeaderList } from './header-list.js'
import { isPlainData, toJson, writeFor } from './response-body.js'
import type { RotationHeader } from './caller-identity.js'
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

/** A response: what a handler's result or an error becomes, what interceptors change, and what is sent. */
export class PreparedResponse implements RouteResponse {
  readonly status: number
  /** Its own headers, which belong to it. For interceptors, everything but `Content-Length` and CORS. */
  readonly list: HeaderList
  /** Text, bytes, a blob or a stream; null if there is none. */
  readonly body: string | Uint8Array | object | null
  /** Bytes of the body; undefined for a stream of unknown length. */
  readonly length: number | undefined
  /** The request for which `list` was completed; undefined if interceptors do not see the response. */
  #request: ServerRequest | undefined = undefined
  #headers: RouteResponseHeaders | undefined = undefined

  constructor(
    status: number,
    list: HeaderList,
    body: string | Uint8Array | object | null,
    length: number | undefined,
  ) {
    this.status = status
    this.list = list
    this.body = body
    this.length = length
  }

  get isPrepared(): boolean {
    return this.#request !== undefined
  }

  markPrepared(request: ServerRequest): void {
    this.#request = request
  }

  get headers(): RouteResponseHeaders {
    return (this.#headers ??= new CheckedHeaders(this.list, this.length))
  }

  get rotation(): RotationHeader | undefined {
    return this.#request?.caller.rotation
  }

  withBody(body: unknown, status = this.status): PreparedResponse {
    const content = isPlainData(body) ? writeFor(this.#request, toJson, body) : (body ?? null)
    const copy = new PreparedResponse(status, this.list.copy(), content, lengthOf(content))
    copy.#request = this.#request
    return copy
  }
}

/** Bytes of the body; undefined for a stream. */
function lengthOf(body: unknown): number | undefined {
  if (body === null) return 0
  return typeof body === 'string' || body instanceof Uint8Array
    ? Buffer.byteLength(body)
    : undefined
}

/** The headers of a response for interceptors, which may set any header that can be sent. */
class CheckedHeaders implements RouteResponseHeaders {
  readonly #list: HeaderList
  readonly #length: number | undefined

  constructor(list: HeaderList, length: number | undefined) {
    this.#list = list
    this.#length = length
  }

  get(name: string): string | undefined {
    const value = this.#list.get(name)
    if (value !== undefined || this.#length === undefined) return value
    return /^content-length$/i.test(name) ? String(this.#length) : undefined
  }

  set(name: string, value: string | number): void {
    const text = String(value)
    checkInterceptedHeader(name, text)
    this.#list.replace(name, text)
  }

  append(name: string, value: string | number): void {
    const text = String(value)
    checkInterceptedHeader(name, text)
    this.#list.add(name, text)
  }

  delete(name: string): void {
    this.#list.delete(name)
  }

  [Symbol.iterator](): Iterator<readonly [string, string]> {
    return this.#list[Symbol.iterator]()
  }
}
