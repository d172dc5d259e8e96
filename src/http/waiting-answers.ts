/**
 * Answers that wait on a connection for the answer of an earlier request. If the connection is lost, Node closes only
 * the first and forgets the others: files, streams and folders held for them would never be released.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export class WaitingAnswers {
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>()

  /** Call it for each request. One whose turn has come costs a look. */
  watch({ socket }: IncomingMessage, outgoing: ServerResponse): void {
    if (outgoing.socket !== null) return
    const known = this.#bySocket.get(socket)
    const waiting = known ?? new Set()
    waiting.add(outgoing)
    outgoing.once('close', () => waiting.delete(outgoing))
    if (known !== undefined) return
    this.#bySocket.set(socket, waiting)
    socket.once('close', () => {
      for (const forgotten of waiting) if (forgotten.socket === null) close(forgotten)
    })
  }
}

function close(outgoing: ServerResponse): void {
  if (outgoing.writableFinished) return
  outgoing.destroy()
  outgoing.emit('close')
}
