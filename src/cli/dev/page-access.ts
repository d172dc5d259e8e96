/**
 * Checks access to the development page: only clients on this machine that have the secret that `filigree dev` prints. A
 * loopback address is not enough, because a proxy on this machine has one, too.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { findProxyHeader, isLocalHost, isLoopbackAddress } from '../../http/local-request.js'
import type { Incoming } from '../../http/node-messages.js'

/** The path of the development page. */
export const pageRoot = '/__filigree'

export interface Refusal {
  readonly status: 403 | 404
  readonly error: string
}

const unknownCaller: Refusal = { status: 403, error: 'Not for this caller.' }

/** The parts of a request that are checked. */
type CheckedRequest = Pick<Incoming, 'socket' | 'headers' | 'rawHeaders' | 'url'>

/** A new secret: 192 random bits, in characters that an address may contain. */
export function createSecret(): string {
  return randomBytes(24).toString('base64url')
}

/** The address that opens the page. The page moves the secret into a cookie. */
export function pageAddress(url: string, secret: string): string {
  return `${url}${pageRoot}?secret=${secret}`
}

/**
 * The cookie that carries the secret. Browsers share cookies between the ports of a host, so its name has the port.
 * It applies to every path, so that browsers can also read why an application does not start.
 */
export function secretCookie(host: string, secret: string): string {
  return `${cookieName(host)}=${secret}; Path=/; HttpOnly; SameSite=Strict`
}

function cookieName(host: string): string {
  return `filigree-dev-${/:(\d+)$/.exec(host)?.[1] ?? '80'}`
}

/** @returns the secret in the address of the request, which can be wrong */
export function secretInAddress(url: string | undefined): string | null {
  return new URLSearchParams((url ?? '').split('?')[1] ?? '').get('secret')
}

function hasSecret({ headers, url }: CheckedRequest, secret: string): boolean {
  const name = cookieName(headers.host ?? '')
  const cookies = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const sent = cookies.filter((pair) => pair[0] === name).map((pair) => pair[1] ?? '')
  const expected = hash('sha256', secret, 'buffer')
  return [...sent, secretInAddress(url) ?? ''].some((one) =>
    timingSafeEqual(hash('sha256', one, 'buffer'), expected),
  )
}

/** @returns the response to a client without access, or undefined for a client with access */
export function checkPageAccess(request: CheckedRequest, secret: string): Refusal | undefined {
  const { socket, headers, rawHeaders } = request
  // The address of the connection, because clients can send any forwarded header.
  if (!isLoopbackAddress(socket.remoteAddress)) return { ...unknownCaller, status: 404 }
  const { host = '', origin } = headers
  // Of several Host headers Node.js only shows the first.
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name))
  if (hosts.length > 1) return unknownCaller
  if (!isLocalHost(host)) return unknownCaller
  // A tunnel ends on this machine and can send `Host: localhost`.
  const passed = findProxyHeader(headers)
  if (passed !== undefined) {
    const error = `This came through a proxy or a tunnel (${passed}). The page is for this machine alone: open it at http://${host}${pageRoot}, without the proxy.`
    return { status: 403, error }
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    return unknownCaller
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return unknownCaller
  return hasSecret(request, secret) ? undefined : withoutSecret
}

/** True for a developer's browser that has not opened the development page yet. */
export function lacksOnlySecret(request: CheckedRequest, secret: string): boolean {
  return checkPageAccess(request, secret) === withoutSecret
}

const withoutSecret: Refusal = {
  status: 403,
  error:
    'This page needs the secret of `filigree dev`. Open the address that the command printed: it ends with ?secret=….',
}
