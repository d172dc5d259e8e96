/**
 * Requests within another request, with its headers: calls of routes, whose body is a value already, and the requests of
 * a connection that carries several, such as operations of a socket or live queries.
 */
import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { RunQueue } from '../../core/run-queue.js'
import type { Incoming } from '../node-messages.js'
import { createIncoming } from './fake-request.js'

/** Headers that apply only to the outer request, or that each internal request sets itself. */
const excludedHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'upgrade', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'expect'],
  ...['accept', 'accept-encoding', 'range', 'if-none-match', 'if-modified-since', 'last-event-id'],
  ...['content-type', 'content-length', 'content-encoding', 'x-request-id'],
])

/** True if internal requests inherit the header. Cookies are handled separately. */
export function isForwarded(name: string): boolean {
  return !excludedHeaders.has(name) && name !== 'cookie' && !name.startsWith('sec-websocket-')
}

/** The head of an internal request. It has everything else from the outer request. */
export interface InternalHead {
  readonly method: string
  readonly url: string
  /** Headers by lower-case name. They replace headers of the outer request. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A request whose body was read already. Streams would double the cost of each call. The headers are created when they
 * are first read.
 */
class InternalRequest extends EventEmitter implements Incoming {
  readonly isTunneled = true as const
  readonly complete = true
  readonly readableEnded = true
  readonly httpVersion = '1.1'
  readonly method: string
  readonly url: string
  destroyed = false
  readonly #outer: Incoming
  readonly #ownHeaders: InternalHead['headers']
  #headers: IncomingHttpHeaders | undefined
  #rawHeaders: readonly string[] | undefined
  #socket: Incoming['socket'] | undefined

  constructor(outer: Incoming, { method, url, headers }: InternalHead) {
    super()
    this.method = method
    this.url = url
    this.#outer = outer
    this.#ownHeaders = headers
  }

  get headers(): IncomingHttpHeaders {
    return (this.#headers ??= headersWithin(this.#outer, this.#ownHeaders))
  }

  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= Object.entries(this.headers).flatMap(([name, value]) =>
      Array.isArray(value) ? value.flatMap((one) => [name, one]) : [name, value ?? ''],
    )
    return this.#rawHeaders
  }

  /** The readable properties of the connection, without methods that close it. */
  get socket(): Incoming['socket'] {
    if (this.#socket === undefined) {
      const { remoteAddress, encrypted = false } = this.#outer.socket
      this.#socket = { remoteAddress, encrypted }
    }
    return this.#socket
  }

  pause(): this {
    return this
  }

  resume(): this {
    return this
  }

  unpipe(): this {
    return this
  }

  destroy(): this {
    this.destroyed = true
    return this
  }
}

function headersWithin(outer: Incoming, ownHeaders: InternalHead['headers']): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {}
  const sent = outer.headers
  for (const name in sent) if (isForwarded(name)) headers[name] = sent[name]
  for (const name in ownHeaders) headers[name] = ownHeaders[name]
  return headers
}

export function createInternalRequest(outer: Incoming, head: InternalHead): Incoming {
  return new InternalRequest(outer, head)
}

/** What the requests of a connection have from the request that opened it. */
export interface Carrier {
  /** Names in lower case. */
  readonly headers: readonly (readonly [string, string])[]
  readonly remoteAddress: string
  readonly encrypted: boolean
}

/**
 * @param withCookies false if a page of another origin opened the connection, because browsers send cookies for every
 * page
 */
export function carrierOf(
  incoming: Incoming,
  { withCookies }: { readonly withCookies: boolean },
): Carrier {
  const headers: [string, string][] = []
  const { rawHeaders, socket } = incoming
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index]?.toLowerCase(), rawHeaders[index + 1]]
    const isIncluded = name === 'cookie' ? withCookies : isForwarded(name)
    if (isIncluded) headers.push([name, value])
  }
  const { remoteAddress = '', encrypted = false } = socket
  return { headers, remoteAddress, encrypted }
}

/** Returns a copy with another `Authorization`. */
export function withAuthorization(carrier: Carrier, value: string): Carrier {
  const otherHeaders = carrier.headers.filter(([name]) => name !== 'authorization')
  return { ...carrier, headers: [...otherHeaders, ['authorization', value]] }
}

/** A request over such a connection. */
export interface TunneledRequest {
  readonly method: 'GET' | 'POST'
  /** Path and query. */
  readonly url: string
  /** JSON, for POST. */
  readonly body?: string
  /** ID of the last event that the client received. */
  readonly lastEventId?: string | undefined
}

/**
 * Maximum number of internal requests of one connection that wait for the head of their response. Further ones wait,
 * like requests of a browser, which has six connections to a server.
 */
const maxConcurrentRequests = 6

/** The internal requests of one connection. Many in one message delay other clients no more than one of them does. */
export function createRequestQueue(): RunQueue {
  return new RunQueue(maxConcurrentRequests)
}

/** Creates a request that accepts an event stream. */
export function createTunneledRequest(
  carrier: Carrier,
  { method, url, body, lastEventId }: TunneledRequest,
): Incoming {
  const { headers, remoteAddress, encrypted } = carrier
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const ownHeaders: (readonly [string, string])[] = [...headers, ['accept', 'text/event-stream']]
  if (lastEventId !== undefined) ownHeaders.push(['last-event-id', lastEventId])
  if (bytes !== undefined) {
    ownHeaders.push(['content-type', 'application/json'], ['content-length', String(bytes.length)])
  }
  const incoming = createIncoming({
    method,
    url,
    headers: ownHeaders,
    body: bytes,
    remoteAddress,
    encrypted,
  })
  const tunneled: Pick<Incoming, 'isTunneled'> = { isTunneled: true }
  return Object.assign(incoming, tunneled)
}
