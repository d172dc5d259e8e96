/** Decides whether a request comes from this machine. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Incoming } from './node-messages.js'

/** True for a request from this machine, such as the developer's browser, to a name of this machine, without a proxy. */
export function isLocalRequest({ socket, headers }: Incoming): boolean {
  return (
    isLoopbackAddress(socket.remoteAddress) &&
    isLocalHost(headers.host ?? '') &&
    findProxyHeader(headers) === undefined
  )
}

export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/.test(address)
}

/** @param host the header `Host`, with or without a port */
export function isLocalHost(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(host)
}

/** Headers that proxies, tunnels and content delivery networks add. */
const proxyHeaders =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|x-proxy.*|true-client-ip|client-ip|cdn-loop|cf-.*|ngrok-.*|fly-.*|tailscale-.*|x-tunnel-.*|x-ms-.*|x-amzn?-.*|x-appengine-.*|x-vercel-.*|fastly-.*|max-forwards)$/

/** @returns the name of the header that a proxy or a tunnel has added, if any */
export function findProxyHeader(headers: IncomingHttpHeaders): string | undefined {
  return Object.keys(headers).find((name) => proxyHeaders.test(name))
}
