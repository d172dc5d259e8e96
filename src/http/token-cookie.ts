/** The cookie with the token of a caller. */
import { readSoleCookie, toSetCookie } from './cookies.js'
import type { ServerRequest } from './server-request.js'

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
  const isCleared = request.response.headers?.flat.includes(cookie) === true
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
