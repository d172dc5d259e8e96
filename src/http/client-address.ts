/**
 * The address of a client, also from headers of trusted proxies, and whether it is on this machine. Source: decisions,
 * Requests; RFC 7239.
 */

import { isIP } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'
import type { Incoming } from './node-messages.js'
import type { RequestSettings } from './request-settings.js'

/** @returns an IPv4 address in its own form, also if it was mapped to IPv6 */
export function clientAddress(address = ''): string {
  return address.startsWith(':') ? address.replace(/^::ffff:(?=[\d.]+$)/i, '') : address
}

/**
 * Returns the entry of `X-Forwarded-For` or `X-Forwarded-Proto` that a trusted proxy wrote. If the header is missing,
 * uses `Forwarded`.
 *
 * @param proxies their number, counted from the right; `true` takes the entry at the left, `false` none
 */
export function readForwarded(
  headers: IncomingHttpHeaders,
  field: 'for' | 'proto',
  proxies: number | boolean,
): string | undefined {
  if (proxies === false || proxies === 0) return undefined
  const value = headers[`x-forwarded-${field}`]
  if (value !== undefined) return entryOf(String(value).split(','), proxies)
  const { forwarded } = headers
  if (forwarded === undefined) return undefined
  const entry = entryOf(splitOutsideQuotes(forwarded, ','), proxies) ?? ''
  for (const pair of splitOutsideQuotes(entry, ';')) {
    const [, name, text = ''] = /^\s*(\w+)=(.*)$/.exec(pair) ?? []
    if (name?.toLowerCase() === field) return unquote(text.trim())
  }
  return undefined
}

/** Each proxy adds its client at the right. If there are fewer entries than proxies, the leftmost one counts. */
function entryOf(entries: readonly string[], proxies: number | true): string | undefined {
  return entries[proxies === true ? 0 : Math.max(0, entries.length - proxies)]?.trim()
}

/**
 * Reads from the right, because the proxies have written that end. A client could open a quote at the left that the first
 * quote of a proxy would close. A quote without a partner is an ordinary character. Empty parts are left out.
 */
function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let end = text.length
  let hasPairs = true
  for (let position = end - 1; position >= 0; position--) {
    const character = text[position]
    if (character === separator) {
      parts.push(text.slice(position + 1, end))
      end = position
    } else if (character === '"' && hasPairs) {
      const opening = findOpeningQuote(text, position)
      // Then no quote at the left has a partner either.
      if (opening === -1) hasPairs = false
      else position = opening
    }
  }
  parts.push(text.slice(0, end))
  return parts.filter((part) => part !== '').reverse()
}

/** @returns the index of the nearest quote at the left of `closing` that is not escaped, or -1 */
function findOpeningQuote(text: string, closing: number): number {
  for (let position = closing - 1; position >= 0; position--) {
    if (text[position] !== '"') continue
    let start = position
    while (text[start - 1] === '\\') start--
    if ((position - start) % 2 === 0) return position
    position = start
  }
  return -1
}

function unquote(text: string): string {
  const quoted = /^"((?:\\.|[^"\\])*)"$/.exec(text)?.[1]
  return quoted?.replace(/\\(.)/g, '$1') ?? text
}

/**
 * @param entry as proxies write it, possibly in quotes: `203.0.113.8`, `203.0.113.8:61598`, `2001:db8::1`,
 * `[2001:db8::1]:443`
 *
 * @returns the address without the port; undefined if it is invalid
 */
export function readAddress(entry: string): string | undefined {
  if (isIP(entry) !== 0) return entry
  const text = unquote(entry)
  const address =
    /^\[([^\]]+)\](?::\w+)?$/.exec(text)?.[1] ?? /^([\d.]+):\w+$/.exec(text)?.[1] ?? text
  return isIP(address) === 0 ? undefined : address
}

type AddressSettings = Pick<RequestSettings, 'trustProxy' | 'log'>

/** The client's address, with IPv4 in its own form. Taken from `X-Forwarded-For` if the application trusts its proxies. */
export function addressOf({ socket, headers }: Incoming, settings: AddressSettings): string {
  const forwarded = readForwarded(headers, 'for', settings.trustProxy)
  if (forwarded === undefined) return clientAddress(socket.remoteAddress)
  const address = readAddress(forwarded)
  if (address === undefined) warnOfAddress(settings, forwarded)
  return clientAddress(address ?? socket.remoteAddress)
}

const warned = new WeakSet<AddressSettings>()

/** Warns once for each application, because its proxy sends the same with every request. */
function warnOfAddress(settings: AddressSettings, entry: string): void {
  if (warned.has(settings)) return
  warned.add(settings)
  settings.log?.warn(
    { entry: entry.slice(0, 100) },
    'The proxy forwards a client that is not an address, so request.ip is the address of the proxy. Limits by address count all such clients together. Logged once.',
  )
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/.test(address)
}

/** @param host the header `Host`, with or without a port */
export function isLocalHost(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(host)
}

/** Headers that proxies, tunnels and content delivery networks add. */
const proxyHeaders =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|x-proxy.*|true-client-ip|client-ip|cdn-loop|cf-.*|ngrok-.*|fly-.*|tailscale-.*|x-tunnel-.*|x-ms-.*|x-amzn?-.*|x-appengine-.*|x-vercel-.*|fastly-.*|max-forwards)$/

/** @returns the name of the header that a proxy or a tunnel has added, if any */
export function findProxyHeader(headers: IncomingHttpHeaders): string | undefined {
  return Object.keys(headers).find((name) => proxyHeaders.test(name))
}

/** True for a request from this machine, such as the developer's browser, to a name of this machine, without a proxy. */
export function isLocalRequest({ socket, headers }: Incoming): boolean {
  return (
    isLoopback(socket.remoteAddress) &&
    isLocalHost(headers.host ?? '') &&
    findProxyHeader(headers) === undefined
  )
}
