/** An answer that is ready but not sent yet, as interceptors before the gate and before the body see it. */
import { writeFor } from './answered-json.js'
import { assertAnswerHeader, removeHeader, valuesOf } from './header-list.js'
import { isPlainData, toJson } from './result.js'
import type { ServerRequest } from './server-request.js'

/** The headers of an answer. Names in any case. */
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

/** What `next()` gives before the gate and before the body, whether a value, an error or the gate made it. */
export interface RouteResponse {
  readonly status: number
  /** All but the CORS headers, which are on every answer. `Access-Control-Expose-Headers` is here where it adds to them. */
  readonly headers: RouteResponseHeaders
  /** Text (of data its JSON), bytes, a stream as it is, or null where there is nothing. */
  readonly body: unknown
  /**
   * The same answer with another body, `Content-Type` and all other headers kept.
   *
   * @param body text, bytes, a stream, data (sent as JSON), or null
   */
  withBody(body: unknown, status?: number): RouteResponse
}

/** The parts of an answer. */
export interface AnswerParts {
  /** Whose answer it is. */
  readonly request?: ServerRequest | undefined
  readonly status: number
  /** Names and values in turn, without `Content-Length` and CORS. */
  readonly list: string[]
  readonly body: unknown
  /** Bytes that a stream will give, where that is known. */
  readonly length: number | undefined
  /** What was collected on the request and is in `list` already. */
  readonly collected: { readonly from: readonly string[] | undefined; readonly count: number }
}

/** @returns true for what `next()` gave, and what `withBody` made of it */
export function isAnswer(value: unknown): value is PreparedAnswer {
  return value instanceof PreparedAnswer
}

export class PreparedAnswer implements RouteResponse {
  readonly status: number
  readonly headers: RouteResponseHeaders
  readonly body: unknown
  readonly parts: AnswerParts

  constructor(parts: AnswerParts) {
    this.status = parts.status
    this.headers = new ListedHeaders(parts.list, lengthOf(parts))
    this.body = parts.body
    this.parts = parts
  }

  withBody(body: unknown, status = this.status): PreparedAnswer {
    const list = [...this.parts.list]
    const content = isPlainData(body) ? writeFor(this.parts.request, toJson, body) : (body ?? null)
    return new PreparedAnswer({ ...this.parts, status, list, body: content, length: undefined })
  }
}

/** Bytes of the body; undefined for a stream of unknown length. */
function lengthOf({ body, length }: AnswerParts): number | undefined {
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
    assertAnswerHeader(name, text)
    removeHeader(this.#list, name)
    this.#list.push(name, text)
  }

  append(name: string, value: string | number): void {
    const text = String(value)
    assertAnswerHeader(name, text)
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
