/**
 * Accepts connections on `::1` beside those on `127.0.0.1`, because clients may resolve `localhost` to either address.
 * Source: RFC 6761, 6.3.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer, type Server as NetServer } from 'node:net'

/** How often another free port is tried, if it is in use on the second address. */
const maxAttempts = 5

const secondListeners = new WeakMap<Server, NetServer>()

/** The addresses of a server that can listen at both. */
export interface Loopbacks {
  /** Listens at `127.0.0.1`. @returns the port */
  listenFirst(): number | Promise<number>
  /** Listens at `::1`. @returns false if another program uses the port there */
  listenSecond(port: number): boolean | Promise<boolean>
  close(): Promise<unknown>
}

/** @param port 0 for any free one @returns the address in use */
export async function listenAtLocalhost(port: number, addresses: Loopbacks): Promise<string> {
  for (let attempts = 1; ; attempts++) {
    const chosen = await addresses.listenFirst()
    if (await addresses.listenSecond(chosen)) return `http://localhost:${chosen}`
    await addresses.close()
    // The system chooses a port that is free on the first address only.
    if (port !== 0 || attempts === maxAttempts)
      throw Object.assign(new Error(`port ${chosen} of ::1 is in use`), { code: 'EADDRINUSE' })
  }
}

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
    return mayDoWithoutSecondLoopback(error)
  }
}

/**
 * Whether a server may do without `::1`, which could not be opened: on a machine without IPv6.
 *
 * @returns false if another program uses the port there
 * @throws other errors
 */
export function mayDoWithoutSecondLoopback(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return false
  if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return true
  throw error
}

/** Stops accepting connections on `::1`. @param closed called when all of its connections have ended */
export function closeSecondLoopback(server: Server, closed: () => void): void {
  const listener = secondListeners.get(server)
  secondListeners.delete(server)
  if (listener === undefined) closed()
  else listener.close(closed)
}
