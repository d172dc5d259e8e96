/**
 * The address of a client, also from headers of trusted proxies, and whether it is on this machine. Source: decisions,
 * Requests; RFC 7239.
 */
import { isIP } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'

/** @returns an IPv4 address in its own form, also if it was mapped to IPv6 */
export function clientAddress(address = ''): string {
  return address.startsWith(':') ? address.replace(/^::ffff:(?=[\d.]+$)/i, '') : address
}

/**
 * Returns the entry of `X-Forwarded-For` or `X-Forwarded-Proto` that a trusted proxy wrote. If the header is missing,
 * uses `Forwarded`.
 *
 * @param proxies their number, counted from the right; `true` takes the entry at the left
 */
export function readForwarded(
  headers: IncomingHttpHeaders,
  field: 'for' | 'proto',
  proxies: number | true,
): string | undefined {
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

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  return (
    text.match(
      separator === ',' ? /(?:"(?:\\.|[^"\\])*"|[^,"]|")+/g : /(?:"(?:\\.|[^"\\])*"|[^;"]|")+/g,
    ) ?? []
  )
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
