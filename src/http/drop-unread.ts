import { Socket } from 'node:net'

/** Bytes that are read and dropped. */
const maxDropped = 1024 * 1024

/** Milliseconds for which bytes are read and dropped once everything is sent. */
const dropTime = 1000

/**
 * Prepares the end of a connection whose client may still be sending. Closing a connection with unread bytes resets it,
 * and a reset can cost the client the response. So the bytes are read and dropped, and `destroySoon` waits until the
 * client has stopped sending. Source: RFC 9112 §9.6.
 */
export function dropUnread(socket: Socket): void {
  let dropped = 0
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped >= maxDropped) socket.pause()
  })
  socket.on('error', () => {
    socket.destroy()
  })
  socket.resume()
  socket.destroySoon = () => {
    socket.end()
    if (socket.writableFinished) closeAfterClient(socket)
    else
      socket.once('finish', () => {
        closeAfterClient(socket)
      })
  }
}

function closeAfterClient(socket: Socket): void {
  const destroy = (): void => {
    socket.destroy()
  }
  if (socket.readableEnded) destroy()
  const timer = setTimeout(destroy, dropTime).unref()
  socket.once('end', destroy)
  socket.once('close', () => {
    clearTimeout(timer)
  })
}
