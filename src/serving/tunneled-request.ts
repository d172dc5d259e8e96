/**
 * Internal requests within a client's connection, such as an operation of a socket or one of several live queries. They
 * pass through the normal request pipeline. The response is read back as events of its stream.
 */
import type { Readable } from 'node:stream'
import { RunQueue } from '../core/run-queue.js'
import type { HeaderList } from '../http/header-list.js'
import { type Incoming, createIncoming, type FakeResponse } from '../http/node-messages.js'

/** The part of the outer request that applies to the internal requests. */
export interface Carrier {
  /** Names in lower case. */
  readonly headers: readonly (readonly [string, string])[]
  readonly remoteAddress: string
  readonly encrypted: boolean
}

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

/**
 * @param withCookies false if a page of another origin opened the connection, because browsers send cookies for every
 * page
 */
export function carrierOf(incoming: Incoming, withCookies: boolean): Carrier {
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

/** An internal request. */
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

/** True if the response is an event stream. */
export function isEventStream(headers: HeaderList): boolean {
  return headers.first('Content-Type')?.startsWith('text/event-stream') === true
}

export interface StreamEvent {
  /** Empty if the event has no name. */
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** Parses the events that `toEventText` has written. Heartbeats are skipped. */
export async function* readEvents(body: Readable): AsyncGenerator<StreamEvent, void, undefined> {
  let rest = ''
  for await (const chunk of body.setEncoding('utf8')) {
    rest += chunk as string
    // A long line arrives in many chunks. Search only new chunks for the line end.
    if (!(chunk as string).includes('\n')) continue
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = readBlock(block)
      if (event.data !== '' || event.event !== '') yield event
    }
  }
}

function readBlock(block: string): StreamEvent {
  let event = ''
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7)
    else if (line.startsWith('data: ')) data.push(line.slice(6))
    else if (line.startsWith('id: ')) id = line.slice(4)
  }
  return { event, data: data.join('\n'), id }
}

/** Reads the whole body as text. Responses that are not streams are short. */
export async function readText(outgoing: FakeResponse): Promise<string> {
  let text = ''
  for await (const chunk of outgoing.body.setEncoding('utf8')) text += chunk as string
  return text
}
