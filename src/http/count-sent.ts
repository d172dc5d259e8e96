/** Counts what is sent with an answer, for who listens. */
import type { Outgoing } from './node-messages.js'

export interface Sent {
  /** 0 before the head was sent. */
  status: number
  /** Bytes of the body. */
  bytes: number
}

/** Watches the answer from now on. */
export function countSent(outgoing: Outgoing): Sent {
  const sent: Sent = { status: 0, bytes: 0 }
  const writeHead = outgoing.writeHead.bind(outgoing)
  const write = outgoing.write.bind(outgoing) as (...given: unknown[]) => boolean
  const end = outgoing.end.bind(outgoing) as (...given: unknown[]) => Outgoing
  const count = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string') {
      sent.bytes += encoding === 'latin1' ? chunk.length : Buffer.byteLength(chunk)
    } else if (chunk instanceof Uint8Array) sent.bytes += chunk.length
  }
  outgoing.writeHead = (status, headers) => {
    sent.status = status
    return writeHead(status, headers)
  }
  outgoing.write = (...given: unknown[]) => {
    count(given[0], given[1])
    return write(...given)
  }
  outgoing.end = (...given: unknown[]) => {
    count(given[0], given[1])
    return end(...given)
  }
  return sent
}
