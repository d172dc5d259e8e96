/**
 * Drops what a client still sends after its request was refused. Closing a connection with unread bytes resets it, and a
 * reset can cost the client the response. Source: RFC 9112 §9.6.
 */
import type { Socket } from 'node:net'
import type { ByteStream } from './node-messages.js'

/** Maximum bytes to drop. */
const maxBytes = 1024 * 1024

/** Maximum milliseconds to wait for the end of the client's bytes, once the response is sent. */
const maxTime = 1000

const ends = ['end', 'close', 'error'] as const

/**
 * Drops bytes of a stream from now on. After 1 MiB it reads no more.
 *
 * @returns a function that calls `done` once, when the stream has ended, or after a second
 */
export function drain(input: ByteStream): (done: () => void) => void {
  let dropped = 0
  const drop = (chunk: Uint8Array): void => {
    dropped += chunk.length
    if (dropped >= maxBytes) input.pause()
  }
  input.on('data', drop)
  input.on('error', () => undefined)
  input.resume()
  return (done) => {
    const finish = (): void => {
      clearTimeout(timer)
      input.off('data', drop)
      for (const event of ends) input.off(event, finish)
      done()
    }
    const timer = setTimeout(finish, maxTime).unref()
    for (const event of ends) input.on(event, finish)
    if (input.readableEnded || input.destroyed) finish()
  }
}

/** Drops the further bytes of a connection. From now on, `destroySoon` waits until the client has stopped sending. */
export function dropUnread(socket: Socket): void {
  socket.removeAllListeners('data')
  const end = drain(socket)
  const destroy = (): void => {
    socket.destroy()
  }
  socket.destroySoon = () => {
    socket.end()
    if (socket.writableFinished) end(destroy)
    else
      socket.once('finish', () => {
        end(destroy)
      })
  }
}
