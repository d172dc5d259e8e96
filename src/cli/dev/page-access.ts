/**
 * Who may read the development page: a client on this machine that has the secret which `filigree dev` prints. A loopback
 * peer alone is not enough, because a proxy on this machine is one too. Source: decisions, "Third storey: the first hour".
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Incoming } from '../../http/node-messages.js'

/** Where the development page is. */
export const pageRoot = '/__filigree'

export interface Refused {
  readonly status: 403 | 404
  readonly error: string
}

const strange: Refused = { status: 403, error: 'Not for this caller.' }

/** The parts of a request that decide. */
type PageRequest = Pick<Incoming, 'socket' | 'headers' | 'rawHeaders' | 'url'>

/** A new secret: 192 random bits, in characters that an address may contain. */
export function createSecret(): string {
  return randomBytes(24).toString('base64url')
}

/** The address that opens the page. The page turns its secret into a cookie. */
export function pageAddress(url: string, secret: string): string {
  return `${url}${pageRoot}?secret=${secret}`
}

/**
 * The cookie that carries the secret. Browsers share cookies between the ports of a host, so its name has the port.
 * It holds for every path, so that a browser is also shown why an application does not start.
 */
export function secretCookie(host: string, secret: string): string {
  return `${cookieName(host)}=${secret}; Path=/; HttpOnly; SameSite=Strict`
}

function cookieName(host: string): string {
  return `filigree-dev-${/:(\d+)$/.exec(host)?.[1] ?? '80'}`
}

/** @returns the secret in the request's address, which need not be the right one */
export function secretInAddress(url: string | undefined): string | null {
  return new URLSearchParams((url ?? '').split('?')[1] ?? '').get('secret')
}

function hasSecret({ headers, url }: PageRequest, secret: string): boolean {
  const name = cookieName(headers.host ?? '')
  const cookies = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const sent = cookies.filter((pair) => pair[0] === name).map((pair) => pair[1] ?? '')
  const expected = hash('sha256', secret, 'buffer')
  return [...sent, secretInAddress(url) ?? ''].some((one) =>
    timingSafeEqual(hash('sha256', one, 'buffer'), expected),
  )
}

/** @returns the response to a client that may not read the page; undefined for one that may */
export function refuse(request: PageRequest, secret: string): Refused | undefined {
  const { socket, headers, rawHeaders } = request
  // The peer itself: forwarded headers are what a client says.
  if (!isLoopback(socket.remoteAddress)) return { ...strange, status: 404 }
  const { host = '', origin } = headers
  // Node shows the first of several.
  const hosts = rawHeaders.filter((name, place) => place % 2 === 0 && /^host$/i.test(name))
  if (hosts.length > 1) return strange
  if (!/^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(host)) return strange
  // A tunnel ends on this machine, and may say that it was asked for `localhost`.
  const passed = Object.keys(headers).find((name) => ofProxies.test(name))
  if (passed !== undefined) {
    const error = `This came through a proxy or a tunnel (${passed}). The page is for this machine alone: open it at http://${host}${pageRoot}, without the proxy.`
    return { status: 403, error }
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    return strange
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return strange
  return hasSecret(request, secret) ? undefined : withoutSecret
}

const withoutSecret: Refused = {
  status: 403,
  error:
    'This page needs the secret of `filigree dev`. Open the address that the command printed: it ends with ?secret=….',
}

/** What proxies, tunnels and networks in front of servers add. */
const ofProxies =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|x-proxy.*|true-client-ip|client-ip|cdn-loop|cf-.*|ngrok-.*|fly-.*|tailscale-.*|x-tunnel-.*|x-ms-.*|x-amzn?-.*|x-appengine-.*|x-vercel-.*|fastly-.*|max-forwards)$/

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/.test(address)
}
