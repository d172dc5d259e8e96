/** Requests without a socket: of `inject`, and of connections that carry several requests. */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Incoming } from '../node-messages.js'

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
export function createIncoming(request: FakeRequest): Incoming & Readable {
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
