/**
 * The two ends of a request: what is read from and what is written to. Node's own objects fit as they are; `inject`
 * and `handle(Request)` bring stand-ins with the same members, so that one request path serves all three.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'

/** A request as it comes in: a stream of the body's bytes, with a head. `IncomingMessage` is one. */
export interface Incoming extends Readable {
  readonly method?: string | undefined
  /** The request target as sent: `/items/7?full=1`. */
  readonly url?: string | undefined
  /** Lower-case names. Node drops all but the first of some repeated headers; `rawHeaders` has them all. */
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
  /** The connection's peer; `encrypted` is true over TLS. */
  readonly socket: { readonly remoteAddress?: string | undefined; readonly encrypted?: boolean }
  /** It came over a socket of another protocol, so that nothing in the head of its answer reaches the client. */
  readonly isTunneled?: true
}

/** Where the response goes: a stream of its bytes, after a head. `ServerResponse` is one. */
export interface Outgoing extends Writable {
  /** Null while the answer waits for its turn, and when the client is gone; absent where there is none. */
  readonly socket?: Writable | null
  /** The status that `writeHead` was given. */
  readonly statusCode?: number
  /** True once `writeHead` was called. */
  readonly headersSent: boolean
  /**
   * Sends status and headers, once.
   *
   * @param headers names and values in turn
   */
  writeHead(status: number, headers: string[]): unknown
  /** Asks a client that waits (`Expect: 100-continue`) for its body. Absent where nobody can wait. */
  writeContinue?(): void
}

/** Headers by lower-case name; values that came more than once are joined. */
export function toTextHeaders(incoming: Incoming): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}
