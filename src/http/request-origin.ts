/** Whether a page of this application, or of another site, sent a request. Source: decisions, CORS and cookies. */
import type { ServerRequest } from './server-request.js'

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

/** Whether the sender is no page of another origin: a page of this application, or a client that is not a browser. */
export function isFromOwnPage(request: ServerRequest): boolean {
  return request.incoming.headers.origin === undefined || isSameOrigin(request)
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
