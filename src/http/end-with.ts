import { writeScheduler } from './sliced-json.js'
import { endInPieces, largeAnswer } from './unread-responses.js'
import type { Outgoing } from './node-messages.js'

/** A response that is being sent, and the bytes sent so far. */
export interface Sending {
  readonly outgoing: Outgoing
  readonly route?: object | undefined
  /** Bytes of the body so far. */
  sentBytes: number
}

/**
 * Ends a response with its body. `end(text)` would pass two pieces to the kernel, the second one empty, which costs a
 * small response a seventh of its processor time. Corked, head and text leave as one string.
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
  // No socket: a fake response, a disconnected client, or a response that waits for earlier ones on its connection.
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
