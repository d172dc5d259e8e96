/** Finds the address of a client, also behind trusted proxies. Source: decisions, Requests; RFC 7239. */

import { isIP } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'
import type { Incoming } from './node-messages.js'
import type { RequestSettings } from './request-settings.js'

type AddressSettings = Pick<RequestSettings, 'trustProxy' | 'log'>

/** Reads the address from the headers of proxies if the application trusts them, otherwise from the connection. */
export function clientAddressOf({ socket, headers }: Incoming, settings: AddressSettings): string {
  const forwarded = readForwarded(headers, 'for', settings.trustProxy)
  if (forwarded === undefined) return unmapIPv4(socket.remoteAddress)
  const address = parseAddress(forwarded)
  if (address === undefined) warnOfInvalidAddress(settings, forwarded)
  return unmapIPv4(address ?? socket.remoteAddress)
}

const warned = new WeakSet<AddressSettings>()

/** Warns once for each application, because its proxy sends the same with every request. */
function warnOfInvalidAddress(settings: AddressSettings, entry: string): void {
  if (warned.has(settings)) return
  warned.add(settings)
  settings.log?.warn(
    { entry: entry.slice(0, 100) },
    'The proxy forwards a client that is not an address, so request.ip is the address of the proxy. Limits by address count all such clients together. Logged once.',
  )
}

/** An IPv6 socket reports `203.0.113.8` as `::ffff:203.0.113.8`. */
function unmapIPv4(address = ''): string {
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
 * quote of a proxy would close. A quote that nothing opens is an ordinary character. Empty parts are left out.
 */
function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let end = text.length
  let mayBeQuoted = true
  for (let position = end - 1; position >= 0; position--) {
    const character = text[position]
    if (character === separator) {
      parts.push(text.slice(position + 1, end))
      end = position
    } else if (character === '"' && mayBeQuoted) {
      const opening = findOpeningQuote(text, position)
      // At the left there are only escaped quotes now. To search from each of them would take quadratic time.
      if (opening === -1) mayBeQuoted = false
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
function parseAddress(entry: string): string | undefined {
  if (isIP(entry) !== 0) return entry
  const text = unquote(entry)
  const address =
    /^\[([^\]]+)\](?::\w+)?$/.exec(text)?.[1] ?? /^([\d.]+):\w+$/.exec(text)?.[1] ?? text
  return isIP(address) === 0 ? undefined : address
}
