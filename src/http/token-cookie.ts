import { readSoleCookie, toSetCookie } from './cookies.js'
import type { ServerRequest } from './server-request.js'

/**
 * The cookie with a token, for requests that browsers send without custom headers: `<img>`, EventSource, pages made by
 * the server. Source: decisions, CORS and cookies; RFC 6265bis §4.1.3.2 (`__Host-`).
 */
export const tokenCookie = 'app_token'
/** The name of the cookie over https. */
export const secureTokenCookie = `__Host-${tokenCookie}`

/** Over https no other host and no http page can set it, because browsers require Secure and Path=/ for the prefix. */
function nameFor({ cookieSecure }: ServerRequest): string {
  return cookieSecure ? secureTokenCookie : tokenCookie
}

/** @returns the token; undefined if there is none, or if there are two different ones */
export function readTokenCookie(request: ServerRequest): string | undefined {
  const header = request.incoming.headers.cookie
  if (header?.includes(tokenCookie) !== true) return undefined
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
