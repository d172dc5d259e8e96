/**
 * Answers before the request's body was read. Closing a connection with unread bytes resets it, and a reset can eat the
 * answer: so the whole answer is sent, some of the body is read and thrown away, then the connection ends. Source: RFC
 * 9112 §9.6.
 */
import type { Sending } from './end-with.js'
import type { Incoming } from './node-messages.js'

/** Bytes of an unread body that Node may take in by itself, so that the connection can be kept. */
const smallBody = 64 * 1024

/** Bytes that are taken in and thrown away before the connection ends. */
const maxDrained = 1024 * 1024

/** Milliseconds for that. */
const drainTime = 1000

/** How much of the body may still be on its way: nothing, at most 64 KiB, or more and perhaps without end. */
export function unreadBody(incoming: Incoming): 'none' | 'small' | 'large' {
  if (incoming.readableEnded || incoming.destroyed) return 'none'
  if (incoming.headers['transfer-encoding'] !== undefined) return 'large'
  const length = Number(incoming.headers['content-length'] ?? 0)
  if (length === 0) return 'none'
  return length <= smallBody ? 'small' : 'large'
}

/**
 * Sends a whole answer, drains the body for a while and ends the response then.
 *
 * @param headers with `Content-Length`, by which the client knows that it has all, and `Connection: close`
 */
export function respondEarly(
  sending: Sending & { readonly incoming: Incoming },
  status: number,
  headers: string[],
  body: string | Uint8Array,
): void {
  const { incoming, outgoing } = sending
  outgoing.writeHead(status, headers)
  if (body.length > 0) outgoing.write(body)
  sending.sentBytes = Buffer.byteLength(body)
  drain(incoming, () => {
    if (!outgoing.destroyed) outgoing.end()
  })
}

function drain(incoming: Incoming, done: () => void): void {
  let drained = 0
  const finish = () => {
    clearTimeout(timer)
    incoming.off('data', count)
    for (const event of ends) incoming.off(event, finish)
    incoming.on('error', () => undefined)
    done()
  }
  const count = (chunk: Uint8Array) => {
    drained += chunk.length
    if (drained >= maxDrained) finish()
  }
  const timer = setTimeout(finish, drainTime).unref()
  // Whoever was reading is not any more.
  incoming.unpipe()
  for (const event of ends) incoming.on(event, finish)
  incoming.on('data', count)
  incoming.resume()
}

const ends = ['end', 'close', 'error'] as const
