/**
 * The cookie with a token, for requests of browsers without headers: `<img>`, EventSource, pages made by the server.
 * Source: decisions, CORS and cookies; RFC 6265bis §4.1.3.2 (`__Host-`).
 */
import { readSoleCookie, toSetCookie } from './cookies.js'
import type { ServerRequest } from './server-request.js'

export const tokenCookie = 'app_token'
/** What it is called over https. */
export const secureTokenCookie = `__Host-${tokenCookie}`

/** Over https no other host and no http page can set it: the browser holds the prefix to Secure, Path=/ and no Domain. */
function nameFor({ cookieSecure }: ServerRequest): string {
  return cookieSecure ? secureTokenCookie : tokenCookie
}

/** @returns the token; undefined where there is none, or two that differ */
export function readTokenCookie(request: ServerRequest): string | undefined {
  const header = request.incoming.headers.cookie
  if (header?.includes(tokenCookie) !== true) return undefined
  return readSoleCookie(header, nameFor(request))
}

/**
 * The value of `Set-Cookie`; the browser forgets the cookie when the token ends.
 *
 * @param token `undefined` clears the cookie
 */
export function toTokenCookie(request: ServerRequest, token: string | undefined): string {
  const { cookieSecure: secure } = request
  const options = token === undefined ? { secure, maxAge: 0 } : { secure, ...lifeOf(token) }
  return toSetCookie(nameFor(request), token ?? '', options)
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
