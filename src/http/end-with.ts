/** Ends a response with its whole body, in one write of one string. */
import type { Outgoing } from './node-messages.js'

/**
 * `end(text)` hands the kernel two pieces, the second of them empty, by a gathering write; that costs a small answer a
 * seventh of its processor time. Corked, head and text leave as one string, and `end` finds nothing more to send.
 *
 * @param bytes the length of `content` in bytes
 */
export function endWith(outgoing: Outgoing, content: string | Uint8Array, bytes: number): void {
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
