/**
 * Reads the head of a request: checks it before any other step, its path, its query and its origin. Source: decisions,
 * Requests; RFC 9112 §3.2.
 */

import { clip } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import type { Incoming } from './node-messages.js'
import { maxHeaders } from './limits.js'
import type { HttpRequest } from './request.js'
import { pathError } from '../routing/route-table.js'
import type { ServerRequest } from './server-request.js'

/**
 * @param maxUrl the maximum size of the request target in bytes. A longer one gets 414
 * @returns the error for an invalid head, otherwise `undefined`
 */
export function headError(incoming: Incoming, maxUrl: number): HttpError | undefined {
  const url = incoming.url ?? ''
  if (url.length > maxUrl) {
    return new HttpError(414, `The URL is longer than ${maxUrl} bytes.`)
  }
  const headers = incoming.rawHeaders
  // Node drops further headers (see `createNodeServer`), and a dropped one could be important.
  if (headers.length >= 2 * maxHeaders) {
    return new HttpError(431, `There are ${maxHeaders} headers or more.`)
  }
  return repeatedHeader(headers) ?? hostError(incoming) ?? codingError(incoming)
}

/** If one of these headers occurs twice, a proxy and this server could read two different requests. */
function repeatedHeader(headers: readonly string[]): HttpError | undefined {
  let seenBits = 0
  for (let index = 0; index < headers.length; index += 2) {
    const bit = singleHeaderBit(headers[index] ?? '')
    if ((seenBits & bit) !== 0) {
      return new HttpError(400, `The header ${clip(headers[index] ?? '')} is there twice.`, {
        code: 'DUPLICATE_HEADER',
      })
    }
    seenBits |= bit
  }
  return undefined
}

/** A bit for each header that may occur only once, 0 for other headers. The length of most names is decisive. */
function singleHeaderBit(name: string): number {
  switch (name.length) {
    case 4:
      return name.toLowerCase() === 'host' ? 1 : 0
    case 12:
      return name.toLowerCase() === 'content-type' ? 2 : 0
    case 13:
      return name.toLowerCase() === 'authorization' ? 4 : 0
    case 14:
      return name.toLowerCase() === 'content-length' ? 8 : 0
    default:
      return 0
  }
}

/** The last valid host, because nearly all requests of a process have the same. */
let knownHost = ''
/** A name or an address, and a port. Source: RFC 3986 §3.2.2; RFC 9112 §3.2. */
const hostForm = /^(?:\[[\w:.%]+\]|[\w\-.~%!$&'()*+,;=]*)(?::\d*)?$/i

/** An invalid host could act as markup, or name another server, in a link that the program builds from it. */
function hostError(incoming: Incoming): HttpError | undefined {
  const { host } = incoming.headers
  if (host === knownHost) return undefined
  if (host === undefined) {
    if (incoming.httpVersion !== '1.1') return undefined
    return new HttpError(400, 'The header Host is missing.', { code: 'MISSING_HOST' })
  }
  if (hostForm.test(host)) {
    knownHost = host
    return undefined
  }
  return new HttpError(400, 'The header Host is not the name of a server.', {
    code: 'INVALID_HOST',
  })
}

/** Only `chunked` is decoded. A body in another coding would be read undecoded. Source: RFC 9112 §6.1. */
function codingError({ headers }: Incoming): HttpError | undefined {
  const coding = headers['transfer-encoding']
  if (coding === undefined || coding.toLowerCase() === 'chunked') return undefined
  return new HttpError(501, 'Transfer-Encoding may be chunked, and nothing else.', {
    code: 'UNKNOWN_TRANSFER_CODING',
  })
}

/** A part of an `Accept` header in lower case, such as `text/html;q=0.5`. */
export interface MediaRange {
  readonly type: string
  readonly parameters: readonly string[]
}

/**
 * Reads an `Accept` header (RFC 9110 §12.5.1). It is split, because a regular expression for all of it takes quadratic
 * time.
 */
export function readMediaRanges(accept: string): MediaRange[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
      return { type, parameters }
    })
}

/**
 * True if an `Accept` header names one of these media types, with a weight above 0. Ranges such as `*\/*` do not count.
 *
 * @param types in lower case
 */
export function namesMedia(accept: string, types: readonly string[]): boolean {
  return readMediaRanges(accept).some(
    ({ type, parameters }) =>
      types.includes(type) && !parameters.some((parameter) => zeroWeight.test(parameter)),
  )
}

const zeroWeight = /^q=0(?:\.0*)?$/
const eventStream: readonly string[] = ['text/event-stream']

/**
 * Whether a client requests a stream of events (`Accept: text/event-stream`) instead of one response. True only for GET
 * requests that list the type, because clients that accept any type get JSON.
 */
export function acceptsEventStream({
  method,
  incoming,
}: Pick<HttpRequest, 'method' | 'incoming'>): boolean {
  const { accept } = incoming.headers
  if (accept === undefined || method !== 'GET') return false
  return namesMedia(accept, eventStream)
}

/** Removes scheme and authority from a target in absolute form (`http://host/path`, RFC 9112 §3.2.2). */
export function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target
  const match = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)
  const rest = match?.[1]
  if (rest === undefined) return target
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** A character that a segment has to escape (RFC 3986, `pchar`), or an escape. */
const escaped = /[^\w\-.~!$&'()*+,;=:@/]/

/**
 * Normalizes a path, so that two requests have the same path if and only if the router sees the same segments:
 * `/%70rivate/` → `/private`, `/caf%c3%a9` → `/caf%C3%A9`, `/a%2fb` → `/a%2Fb`. Dot segments and empty segments stay,
 * because the router uses them unchanged. Source: decisions, Routing; RFC 3986 §3.3 and §6.2.2.
 *
 * @param sent without the query
 * @param pattern the matched route's. In the part that its `<rest:path>` takes, `%2F` becomes a slash
 * @returns `sent` if it is malformed, which gets 400
 */
export function readPath(sent: string, pattern: string | undefined): string {
  const path = withoutLastSlash(sent)
  if (!escaped.test(path)) return path
  if (!path.startsWith('/') || /\p{Surrogate}/u.test(path) || pathError(path) !== undefined)
    return path
  const rest = pattern?.endsWith(':path>') === true ? pattern.split('/').length - 1 : Infinity
  return path
    .split('/')
    .map((part, index) => (index < rest ? writeSegment(decode(part)) : writeRest(decode(part))))
    .join('/')
}

/** The router ignores one slash at the end. */
function withoutLastSlash(path: string): string {
  const isIgnored = path.length >= 2 && path.endsWith('/') && !path.endsWith('//')
  return isIgnored ? path.slice(0, -1) : path
}

function decode(part: string): string {
  return part.includes('%') ? decodeURIComponent(part) : part
}

function writeRest(text: string): string {
  return text.split('/').map(writeSegment).join('/')
}

function writeSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
}

/**
 * Whether a page of this application sent a request. A write that is authenticated by a cookie must come from one. Uses
 * `Sec-Fetch-Site`, which no page can set (Fetch Metadata §2.4), otherwise `Origin`. Source: decisions, CORS and
 * cookies.
 */
export function isSameOrigin(request: ServerRequest): boolean {
  const { origin, host = '', 'sec-fetch-site': site } = request.incoming.headers
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return false
  if (origin === request.publicOrigin) return true
  const address = `${request.secure ? 'https' : 'http'}://${host}`
  return URL.canParse(address) && new URL(address).origin === origin
}

/**
 * Whether a page of another site sent a request, according to `Sec-Fetch-Site`. Without that header, according to
 * `Origin`. Source: decisions, CORS and cookies.
 */
export function isCrossSite(request: ServerRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.incoming.headers
  if (site !== undefined) return site === 'cross-site'
  return origin !== undefined && !isSameOrigin(request)
}

/**
 * Whether the browser navigated from a page of another site with a write, as a form does. Only such a write may set a
 * cookie with SameSite=Lax, because browsers ignore cookies in other requests to another site.
 */
export function isCrossSiteForm(request: ServerRequest): boolean {
  const { method, incoming } = request
  if (method === 'GET' || method === 'HEAD') return false
  const mode = incoming.headers['sec-fetch-mode']
  return (mode === undefined || mode === 'navigate') && isCrossSite(request)
}

/** Reads `a=1&b=2`, from the query and from urlencoded bodies. Source: WHATWG URL, application/x-www-form-urlencoded. */

/** Text by name; a list if the name repeats. Has no prototype, so that no key can reach one. */
export type TextValues = Record<string, string | string[]>

/** Names that no field may have, because they would reach the prototype of a plain object. */
export const prototypeKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Maximum number of pairs. More get 400. */
const maxPairs = 1000

/**
 * @param text without the leading `?`; `+` is a space
 * @throws {HttpError} 400 on a malformed escape, a prototype key, or more than 1,000 pairs
 */
export function readQuery(text: string): TextValues {
  const values = Object.create(null) as TextValues
  if (text === '') return values
  let pairs = 0
  let start = 0
  while (start <= text.length) {
    const found = text.indexOf('&', start)
    const end = found === -1 ? text.length : found
    if (end > start) {
      if (++pairs > maxPairs) throw new HttpError(400, `More than ${maxPairs} parameters.`)
      addPair(values, text.slice(start, end))
    }
    start = end + 1
  }
  return values
}

/** Items of values with encoded commas. They are rare, so that most queries have no entry. */
const itemsWithCommas = new WeakMap<TextValues, Map<string, readonly string[]>>()

/**
 * Returns the items of a list in a query: two for `a,b`, one for `a%2Cb`. If the name repeats, each value is one item.
 *
 * @param values what `readQuery` returned
 */
export function listItems(values: TextValues, name: string): readonly string[] {
  const value = values[name] ?? ''
  if (Array.isArray(value)) return value
  return itemsWithCommas.get(values)?.get(name) ?? value.split(',')
}

function keepItems(values: TextValues, name: string, raw: string): void {
  const listsByName = itemsWithCommas.get(values) ?? new Map<string, readonly string[]>()
  itemsWithCommas.set(values, listsByName.set(name, raw.split(',').map(decodeComponent)))
}

function addPair(values: TextValues, pair: string): void {
  const equals = pair.indexOf('=')
  const name = decodeComponent(equals === -1 ? pair : pair.slice(0, equals))
  if (prototypeKeys.has(name)) {
    throw new HttpError(400, `"${clip(name)}" is not a parameter name.`, { code: 'PROTOTYPE_KEY' })
  }
  const raw = equals === -1 ? '' : pair.slice(equals + 1)
  const value = decodeComponent(raw)
  if (value !== raw && /%2c/i.test(raw)) keepItems(values, name, raw)
  const before = values[name]
  if (before === undefined) values[name] = value
  else if (Array.isArray(before)) before.push(value)
  else values[name] = [before, value]
}

function decodeComponent(text: string): string {
  const spaced = text.includes('+') ? withSpaces(text) : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch (cause) {
    throw new HttpError(400, 'Malformed percent-encoding.', { code: 'MALFORMED_ENCODING', cause })
  }
}

/** Longer texts are changed as bytes, because `replaceAll` needs 200 ms for a million plus signs. */
const longText = 1024

const [plus, space] = [0x2b, 0x20]

function withSpaces(text: string): string {
  if (text.length < longText) return text.replaceAll('+', ' ')
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] === plus) bytes[index] = space
  }
  return bytes.toString()
}
