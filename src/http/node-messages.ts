/**
 * The interfaces of Node's request and response objects, and fakes for requests without a socket. `inject`,
 * `handle(Request)` and internal requests use the fakes, so that all requests take the same path.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { HeaderList } from './header-list.js'

/** An incoming request: its head, and a stream of the body's bytes. `IncomingMessage` implements it. */
export interface Incoming extends Readable {
  readonly method?: string | undefined
  /** The request target as sent: `/items/7?full=1`. */
  readonly url?: string | undefined
  /** By lower-case name. Of some repeated headers, Node keeps only the first; `rawHeaders` has all. */
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
  /** The connection's peer; `encrypted` is true over TLS. */
  readonly socket: { readonly remoteAddress?: string | undefined; readonly encrypted?: boolean }
  /** True for internal requests: no client sees the head of the response. */
  readonly isTunneled?: true
}

/** An outgoing response: a head, then a stream of the body's bytes. `ServerResponse` implements it. */
export interface Outgoing extends Writable {
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

export interface FakeRequest {
  readonly method: string
  /** The request target: path and query. */
  readonly url: string
  /** Names in any case, with their values. */
  readonly headers: Iterable<readonly [string, string]>
  readonly body: Readable | Uint8Array | undefined
  readonly remoteAddress?: string
  /** Whether it was sent over https. Default false. */
  readonly encrypted?: boolean
}

/** @returns a request that reads like Node's: lower-case header names, repeated ones joined */
export function createIncoming(request: FakeRequest): Incoming {
  const { body } = request
  const stream =
    body instanceof Readable
      ? body
      : Readable.from(body === undefined ? [] : [body], { objectMode: false })
  const headers: IncomingHttpHeaders = {}
  const rawHeaders: string[] = []
  for (const [name, value] of request.headers) {
    const key = name.toLowerCase()
    const before = headers[key]
    // Proxies split the cookie header (RFC 9113 §8.2.3). Node joins it with a semicolon.
    const between = key === 'cookie' ? '; ' : ', '
    headers[key] = typeof before === 'string' ? before + between + value : value
    rawHeaders.push(name, value)
  }
  return Object.assign(stream, {
    method: request.method,
    url: request.url,
    headers,
    rawHeaders,
    httpVersion: '1.1',
    socket: {
      remoteAddress: request.remoteAddress ?? '127.0.0.1',
      encrypted: request.encrypted === true,
    },
  })
}

export interface OutgoingHead {
  readonly status: number
  readonly headers: HeaderList
}

/** A response that stores what is written to it: the head as data, the body as a stream. */
export class FakeResponse extends Writable implements Outgoing {
  headersSent = false
  statusCode = 200
  /** Resolves when the head was written; rejects when the response was destroyed before. */
  readonly head: Promise<OutgoingHead>
  /** The body's bytes, with back-pressure. */
  readonly body: Readable
  #resolveHead!: (head: OutgoingHead) => void
  #resume: (() => void) | undefined

  constructor() {
    super()
    let rejectHead: (cause: Error) => void = () => undefined
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve
      rejectHead = reject
    })
    this.head.catch(() => undefined)
    this.body = new Readable({
      read: () => {
        // Removed before it is called, because it may write the next chunk immediately, which then waits for the next
        // read.
        const resume = this.#resume
        this.#resume = undefined
        resume?.()
      },
      destroy: (error, callback) => {
        this.destroy()
        callback(error)
      },
    })
    this.body.on('error', () => undefined)
    this.on('error', () => undefined)
    this.once('close', () => {
      if (!this.headersSent)
        rejectHead(new Error('The connection was closed before there was a response.'))
      if (!this.writableFinished) this.body.destroy(new Error('The response was cut off.'))
    })
  }

  writeHead(status: number, headers: string[]): this {
    if (this.headersSent) throw new Error('The head was sent already.')
    this.headersSent = true
    this.statusCode = status
    this.#resolveHead({ status, headers: new HeaderList(headers) })
    return this
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    if (this.body.push(chunk)) callback()
    else this.#resume = callback
  }

  override _final(callback: () => void): void {
    this.body.push(null)
    callback()
  }
}
