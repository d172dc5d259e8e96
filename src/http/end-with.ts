/** Ends a response with its whole body, in one write of one string. */
import { writeScheduler } from './sliced-json.js'
import { endInPieces, largeAnswer } from './unread-responses.js'
import type { Outgoing } from './node-messages.js'

/** Where an answer goes, and what has gone there. */
export interface Sending {
  readonly outgoing: Outgoing
  readonly route?: object | undefined
  /** Bytes of the body so far. */
  sentBytes: number
}

/**
 * `end(text)` hands the kernel two pieces, the second of them empty, by a gathering write; that costs a small answer a
 * seventh of its processor time. Corked, head and text leave as one string, and `end` finds nothing more to send.
 *
 * @param bytes the length of `content` in bytes
 */
export function endWith(sending: Sending, content: string | Uint8Array, bytes: number): void {
  if (bytes >= largeAnswer) {
    writeScheduler.recordLarge(sending.route)
    endInPieces(sending, content, bytes)
    return
  }
  const { outgoing } = sending
  sending.sentBytes = bytes
  const { socket } = outgoing
  // No socket: a stand-in, a client that went, or an answer that waits for those before it on its connection.
  if (typeof content !== 'string' || socket === undefined || socket === null) {
    outgoing.end(content)
    return
  }
  socket.cork()
  // A text of as many bytes as letters is ASCII, which needs no encoding.
  outgoing.write(content, bytes === content.length ? 'latin1' : 'utf8')
  socket.uncork()
  outgoing.end()
}
