/**
 * The parts of Node's request and response objects that the framework uses. The messages in `in-memory/` have them too,
 * so that all requests take the same path.
 */

import type { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'

/** A stream of bytes that is read by its events. `Readable` implements it. */
export interface ByteStream extends EventEmitter {
  readonly destroyed: boolean
  readonly readableEnded: boolean
  pause(): unknown
  resume(): unknown
  unpipe(): unknown
  destroy(error?: Error): unknown
}

/** An incoming request: its head, and a stream of the body's bytes. `IncomingMessage` implements it. */
export interface Incoming extends ByteStream {
  readonly method?: string | undefined
  /** The request target as sent: `/items/7?full=1`. */
  readonly url?: string | undefined
  /** By lower-case name. Of some repeated headers, Node keeps only the first; `rawHeaders` has all. */
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[]
  /**
   * Set by requests whose headers are joined if they came more than once, also in `rawHeaders`. Returns one header, which
   * costs less than all of them.
   *
   * @param name in lower case
   */
  readonly joinedHeader?: (name: string) => string | null
  /**
   * Set by requests that can read a short body in one piece, which costs less than events.
   *
   * @param take receives the bytes. What it throws rejects the promise
   * @returns undefined for a body that is read by events. Rejects if the connection broke
   */
  readWhole?(take: (bytes: Buffer) => void): Promise<void> | undefined
  readonly httpVersion: string
  /** The connection's peer; `encrypted` is true over TLS. */
  readonly socket: { readonly remoteAddress?: string | undefined; readonly encrypted?: boolean }
  /** True for internal requests: no client sees the head of the response. */
  readonly isTunneled?: true
}

/** An outgoing response: a head, then a stream of the body's bytes. `ServerResponse` implements it. */
export interface Outgoing extends EventEmitter {
  readonly destroyed: boolean
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  readonly writableNeedDrain: boolean
  /** Null while the response waits for earlier ones, and after the client has disconnected; absent without a socket. */
  readonly socket?: Writable | null
  /** The status that was passed to `writeHead`. */
  readonly statusCode?: number
  /** True once `writeHead` was called. */
  readonly headersSent: boolean
  /**
   * Sends status and headers, once.
   *
   * @param headers names and values in turn
   */
  writeHead(status: number, headers: string[]): unknown
  /** @returns false if the response has no room until `drain` */
  write(chunk: string | Uint8Array): boolean
  write(chunk: string, encoding: 'latin1' | 'utf8'): boolean
  end(chunk?: string | Uint8Array): unknown
  /** Cuts the response off. */
  destroy(): unknown
  /** Sends `100 Continue` to a client that waits for it (`Expect: 100-continue`). Absent without a socket. */
  writeContinue?(): void
}

/** Returns the headers by lower-case name, with repeated values joined. */
export function toTextHeaders(incoming: Incoming): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}
