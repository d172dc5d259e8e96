/**
 * A request within another's connection: an operation of a socket, a live answer beside others. It goes the way of all
 * requests, and what it answers is read back as the events of its stream.
 */
import type { Readable } from 'node:stream'
import { findValue } from '../http/header-list.js'
import type { Incoming } from '../http/node-messages.js'
import { createIncoming, type FakeResponse } from '../http/fake-messages.js'

/** What the request that opened the connection says for those within. */
export interface Carrier {
  /** Names in lower case. */
  readonly headers: readonly (readonly [string, string])[]
  readonly remoteAddress: string
  readonly encrypted: boolean
}

/** Headers that concern the outer request alone, or that one within brings itself. */
const excludedHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'upgrade', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'expect'],
  ...['accept', 'accept-encoding', 'range', 'if-none-match', 'if-modified-since', 'last-event-id'],
  ...['content-type', 'content-length', 'content-encoding', 'x-request-id'],
])

/** Whether a header is also of the requests within, cookies apart. */
export function isForwarded(name: string): boolean {
  return !excludedHeaders.has(name) && name !== 'cookie' && !name.startsWith('sec-websocket-')
}

/** @param withCookies false where a page of another origin has opened it: its browser sends them for every page */
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

/** The same with another `Authorization`. */
export function withAuthorization(carrier: Carrier, value: string): Carrier {
  const otherHeaders = carrier.headers.filter(([name]) => name !== 'authorization')
  return { ...carrier, headers: [...otherHeaders, ['authorization', value]] }
}

/** What is asked for within. */
export interface TunneledRequest {
  readonly method: 'GET' | 'POST'
  /** Path and query. */
  readonly url: string
  /** JSON, for POST. */
  readonly body?: string
  /** The id of the last event that the client has. */
  readonly lastEventId?: string | undefined
}

/** A request that takes an event stream. */
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
  return Object.assign(incoming, { isCarried: true as const })
}

/** True where the answer is a stream of events. */
export function isEventStream(headers: readonly string[]): boolean {
  return findValue(headers, 'Content-Type')?.startsWith('text/event-stream') === true
}

export interface StreamEvent {
  /** Empty where it has none. */
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** Reads the events that `toEventText` has written; heartbeats are passed over. */
export async function* readEvents(body: Readable): AsyncGenerator<StreamEvent, void, undefined> {
  let rest = ''
  for await (const chunk of body.setEncoding('utf8')) {
    rest += chunk as string
    // A long line comes in many pieces, which are looked at once.
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

/** The whole body as text: an answer that is no stream is a short one. */
export async function readText(outgoing: FakeResponse): Promise<string> {
  let text = ''
  for await (const chunk of outgoing.body.setEncoding('utf8')) text += chunk as string
  return text
}
