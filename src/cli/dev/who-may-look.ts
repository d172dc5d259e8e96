/**
 * Whom `filigree dev` shows what happens in an application: this machine alone, under its own names, and no page of
 * another origin. Source: decisions, "Third storey: the first hour".
 */
import type { Incoming } from '../../http/node-messages.js'

/** Where the development page is. */
export const pageRoot = '/__filigree'

export interface Refused {
  readonly status: 403 | 404
  readonly error: string
}

const strange: Refused = { status: 403, error: 'Not for this caller.' }

/** @returns what whoever may not see the page gets; undefined for those who may */
export function refuse({
  socket,
  headers,
  rawHeaders,
}: Pick<Incoming, 'socket' | 'headers' | 'rawHeaders'>): Refused | undefined {
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
  return site === undefined || site === 'same-origin' || site === 'none' ? undefined : strange
}

/** What proxies, tunnels and networks in front of servers add. */
const ofProxies =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|x-proxy.*|true-client-ip|client-ip|cdn-loop|cf-.*|ngrok-.*|fly-.*|tailscale-.*|x-tunnel-.*|x-ms-.*|x-amzn?-.*|x-appengine-.*|x-vercel-.*|fastly-.*|max-forwards)$/

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/.test(address)
}
