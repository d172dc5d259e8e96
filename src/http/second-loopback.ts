/**
 * Accepts connections on `::1` for a server that listens at `127.0.0.1`, because clients may resolve `localhost` to either
 * address. Source: RFC 6761, 6.3.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer, type Server as NetServer } from 'node:net'

const secondListeners = new WeakMap<Server, NetServer>()

/**
 * Has no effect on a machine without IPv6.
 *
 * @returns false if another program uses the port on `::1`
 */
export async function listenAtSecondLoopback(server: Server, port: number): Promise<boolean> {
  const listener = createServer({ noDelay: true }, (socket) => {
    server.emit('connection', socket)
  })
  try {
    listener.listen({ port, host: '::1' })
    await once(listener, 'listening')
    secondListeners.set(server, listener)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') return false
    if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return true
    throw error
  }
}

/** Stops accepting connections on `::1`. @param closed called when all of its connections have ended */
export function closeSecondLoopback(server: Server, closed: () => void): void {
  const listener = secondListeners.get(server)
  secondListeners.delete(server)
  if (listener === undefined) closed()
  else listener.close(closed)
}
