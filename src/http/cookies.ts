/** Reads and writes cookies, with the package `cookie`. Source: RFC 6265 §4.1 and §5.4. */

import { parseCookie, stringifySetCookie } from 'cookie'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'

const cookieOptions = declareOptions({
  /** Life in seconds; 0 deletes. Default: until the browser closes. */
  maxAge: option.any<number>(),
  /** The time of expiry. `maxAge` takes precedence. */
  expires: option.any<Date>(),
  /** The path of requests with the cookie. Default `/`. */
  path: option.any<string>(),
  /** Send it to subdomains of this host too. Default: only to this host. */
  domain: option.any<string>(),
  /** Hide it from scripts. Default true. */
  httpOnly: option.flag(),
  /** Sent over https only. Default false; `sameSite: 'none'` needs it. */
  secure: option.flag(),
  /** Sent with requests from other sites: never, on navigation, always. Default `lax`. */
  sameSite: option.any<'strict' | 'lax' | 'none'>(),
})

export interface CookieOptions extends OptionsOf<typeof cookieOptions> {}

/** @param header the `Cookie` header @returns decoded values by name; the first of a repeated name */
export function readCookies(header: string): Record<string, string> {
  return { ...parseCookie(header) } as Record<string, string>
}

/**
 * Removes spaces and tabs at both ends, and no other blanks as `trim` does: a name with another blank before `__Host-` is
 * a name that the browser did not protect. A loop, because `/[ \t]+$/` would search again from each of many blanks.
 */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(character: number): boolean {
  return character === 0x20 || character === 0x09
}

/**
 * Reads a cookie with a credential. Another host below the same domain can plant a second one.
 *
 * @param header the `Cookie` header
 * @returns its raw value; undefined if there is none, or if there are two different ones, whose origin is unknown
 */
export function readSoleCookie(header: string, name: string): string | undefined {
  const start = `${name}=`
  let found: string | undefined
  for (const part of header.split(';')) {
    const pair = trimBlanks(part)
    if (!pair.startsWith(start)) continue
    const value = pair.slice(start.length)
    if (found !== undefined && found !== value) return undefined
    found = value
  }
  return found === '' ? undefined : found
}

/**
 * Makes the value of a `Set-Cookie` header: `theme=dark; Path=/; HttpOnly; SameSite=Lax`.
 *
 * @param value any text; it is percent-encoded
 * @throws {TypeError} if the name, path or domain is not allowed in the header, or an option is unknown
 */
export function toSetCookie(name: string, value: string, options: CookieOptions = {}): string {
  cookieOptions.check('cookie', options)
  return stringifySetCookie({
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    ...options,
    name,
    value,
  })
}
