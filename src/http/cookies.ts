/** Reads and writes cookies, with the package `cookie`. Source: RFC 6265 §4.1 and §5.4. */

import { parseCookie, stringifySetCookie } from 'cookie'
import { checkCallOptions } from '../errors/unknown-options.js'
import type { ServerRequest } from './server-request.js'

export interface CookieOptions {
  /** Life in seconds; 0 deletes. Default: until the browser closes. */
  maxAge?: number
  /** The time of expiry. `maxAge` takes precedence. */
  expires?: Date
  /** The path of requests with the cookie. Default `/`. */
  path?: string
  /** Send it to subdomains of this host too. Default: only to this host. */
  domain?: string
  /** Hide it from scripts. Default true. */
  httpOnly?: boolean
  /** Sent over https only. Default false; `sameSite: 'none'` needs it. */
  secure?: boolean
  /** Sent with requests from other sites: never, on navigation, always. Default `lax`. */
  sameSite?: 'strict' | 'lax' | 'none'
}

const optionNames: ReadonlySet<string> = new Set<keyof CookieOptions>([
  'maxAge',
  'expires',
  'path',
  'domain',
  'httpOnly',
  'secure',
  'sameSite',
])

/** @param header the `Cookie` header @returns decoded values by name; the first of a repeated name */
export function readCookies(header: string): Record<string, string> {
  return { ...parseCookie(header) } as Record<string, string>
}

/**
 * Removes spaces and tabs at both ends. `trim` removes more, and could turn another name into a `__Host-` name, which
 * the browser has not checked. This is a loop, because `/[ \t]+$/` would search again from each of many blanks.
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
  checkCallOptions('cookie', options, optionNames)
  return stringifySetCookie({
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    ...options,
    name,
    value,
  })
}

/** Configured names. */
export interface CookieNameOptions {
  /** The token's cookie, without `__Host-`. Default: `app_token` with the suffix of the application. */
  readonly token?: string | undefined
  /** The session's cookie. Default: `app_session` with the suffix of the application. */
  readonly session?: string | undefined
}

/**
 * The names of the framework's cookies. Browsers share cookies between the ports and paths of a host, so the names differ
 * between its applications: `app_token_3000` outside production, `app_token.desk` for the path `/desk` in production.
 */
export class CookieNames {
  /** The cookie with a token, for requests that browsers send without custom headers: `<img>`, EventSource, pages. */
  token = ''
  /**
   * The token's cookie over https. No other host and no http page can set it, because browsers require Secure and Path=/
   * for the prefix (RFC 6265bis §4.1.3.2).
   */
  secureToken = ''
  /** The cookie that identifies a visitor's session. */
  session = ''
  readonly #options: CookieNameOptions
  #suffix = ''

  constructor(options: CookieNameOptions = {}, suffix = '') {
    this.#options = options
    this.suffix = suffix
  }

  /** Set once the port is known. */
  set suffix(suffix: string) {
    this.#suffix = suffix
    this.token = this.#options.token ?? this.of('token')
    this.secureToken = `__Host-${this.token}`
    this.session = this.#options.session ?? this.of('session')
  }

  /** The name of another cookie: `app_passkeys_3000`. */
  of(purpose: string): string {
    return `app_${purpose}${this.#suffix}`
  }
}

/** The suffix of an application that listens on this port. */
export function portSuffix(port: number): string {
  return `_${port}`
}

/**
 * The suffix of an application at a public address: its path with dots, and its port if it is not the default.
 *
 * @param path the prefix of the paths of the application, behind the path of the address
 */
export function addressSuffix(address: string | undefined, path: string): string {
  const url = address === undefined ? undefined : new URL(address)
  const port = url === undefined || url.port === '' ? '' : `_${url.port}`
  const complete = `${url?.pathname ?? ''}${path}`.replace(/\/+$/, '')
  // A dot in the path must not look like a slash. The other characters are not allowed in names.
  const escaped = complete.replace(/[^!#$%&'*+\-^_`|~0-9A-Za-z/]/g, (sign) => encodeSign(sign))
  return port + escaped.replace(/\/+/g, '.')
}

function encodeSign(sign: string): string {
  const bytes = [...Buffer.from(sign)]
  return bytes.map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

/** @returns the problem of a configured name; undefined if browsers accept it (RFC 6265 §4.1.1) */
export function findCookieNameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string' || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/.test(name))
    return 'is not the name of a cookie'
  if (/^__(?:host|secure)-/i.test(name)) return 'has a prefix, which is added over https'
  return undefined
}

/** Over https the cookie with the prefix is used. */
function nameFor({ cookieSecure, cookieNames }: ServerRequest): string {
  return cookieSecure ? cookieNames.secureToken : cookieNames.token
}

/** @returns the token; undefined if there is none, or if there are two different ones */
export function readTokenCookie(request: ServerRequest): string | undefined {
  const header = request.incoming.headers.cookie
  if (header?.includes(request.cookieNames.token) !== true) return undefined
  return readSoleCookie(header, nameFor(request))
}

/**
 * Writes the value of `Set-Cookie`. The browser deletes the cookie when the token expires.
 *
 * @param token `undefined` clears the cookie
 */
export function toTokenCookie(request: ServerRequest, token: string | undefined): string {
  const { cookieSecure: secure } = request
  const options = token === undefined ? { secure, maxAge: 0 } : { secure, ...lifeOf(token) }
  return toSetCookie(nameFor(request), token ?? '', options)
}

/** Deletes the cookie if the token of the request came in it. */
export function clearTokenCookie(request: ServerRequest): void {
  if (!request.caller.isByCookie) return
  const cookie = toTokenCookie(request, undefined)
  const isCleared = request.responseHeaders?.flat.includes(cookie) === true
  if (!isCleared) request.addHeader('Set-Cookie', cookie)
}

/** The token is not verified here, because only the cookie's own expiry depends on it. */
function lifeOf(token: string): { maxAge?: number } {
  try {
    const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')
    const { exp } = JSON.parse(text) as { exp?: unknown }
    if (typeof exp !== 'number' || !Number.isFinite(exp)) return {}
    return { maxAge: Math.max(0, Math.floor(exp - Date.now() / 1000)) }
  } catch {
    return {}
  }
}
