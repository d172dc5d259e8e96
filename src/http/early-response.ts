/**
 * Sends responses before the request's body was read. Closing a connection with unread bytes resets it, and a reset can
 * discard the response. Therefore the complete response is sent first, then a part of the body is read and dropped, and
 * then the connection ends. Source: RFC 9112 §9.6.
 */
import { drain } from './drain.js'
import type { HeaderList } from './header-list.js'
import type { Incoming } from './node-messages.js'
import { endWith } from './response-body.js'
import { isBodyless } from './response-head.js'
import type { ServerRequest } from './server-request.js'

/** Maximum bytes of an unread body that Node may discard, so that the connection can be reused. */
const smallBody = 64 * 1024

/** Estimates how much of the body is outstanding: nothing, at most 64 KiB, or more and possibly unlimited. */
export function unreadBody(incoming: Incoming): 'none' | 'small' | 'large' {
  if (incoming.readableEnded || incoming.destroyed) return 'none'
  if (incoming.headers['transfer-encoding'] !== undefined) return 'large'
  const length = Number(incoming.headers['content-length'] ?? 0)
  if (length === 0) return 'none'
  return length <= smallBody ? 'small' : 'large'
}

/** Statuses after which the connection is closed, because the client is too slow or sends too much. */
export const closingStatuses: readonly number[] = [408, 413, 431]

/**
 * Sends a complete response, possibly before the request's body was read: with much of the body outstanding, the
 * connection ends after the response.
 */
export function respondEarly(
  request: ServerRequest,
  status: number,
  headers: HeaderList,
  body: string | Uint8Array,
): void {
  const { incoming, outgoing } = request
  const unread = unreadBody(incoming)
  const closes = unread === 'large' || closingStatuses.includes(status)
  if (closes) headers.set('Connection', 'close')
  const content = request.method === 'HEAD' || isBodyless(status) ? '' : body
  outgoing.writeHead(status, headers.flat)
  if (closes && unread !== 'none') {
    // `Content-Length` tells the client that the response is complete.
    if (content.length > 0) outgoing.write(content)
    request.response.sentBytes = Buffer.byteLength(content)
    // Detach any previous reader.
    incoming.unpipe()
    drain(incoming)(() => {
      if (!outgoing.destroyed) outgoing.end()
    })
  } else if (content.length === 0) outgoing.end()
  else endWith(request, content, Buffer.byteLength(content))
}
