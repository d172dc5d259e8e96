/**
 * Closes a server without losing a request: clients get `Connection: close` before connections are closed, and streams
 * are ended. Source: RFC 9112 §9.6; docs/configuration.md, "Shutdown".
 */

import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { Connections } from './connections.js'
import { closeSecondLoopback } from './second-loopback.js'

export interface ClosingTimes {
  /** Milliseconds for which open connections are still served. */
  readonly linger: number
  /** Milliseconds until requests in flight are aborted. */
  readonly drain: number
  /** Whether new connections are accepted and served meanwhile. False if other workers accept them. */
  readonly takesNew: boolean
}

/** Milliseconds between two checks of the connections. */
const checkInterval = 20

/** The maximum wait for a time without new connections, in milliseconds. */
const maxQuietWait = 250

/**
 * Requests that arrive just before the listener closes. Their clients may connect again immediately, and the system
 * resets connections that it accepts while the listener closes. So these requests are served after it is closed.
 */
export class FinalRequests {
  #waiting: (() => void)[] | undefined

  get isCollecting(): boolean {
    return this.#waiting !== undefined
  }

  /** @param serve is called once the listener is closed */
  add(serve: () => void): void {
    this.#waiting?.push(serve)
  }

  begin(): void {
    this.#waiting ??= []
  }

  end(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const serve of waiting) serve()
  }
}

/** @returns once every connection is closed */
export function closeServer(
  server: Server,
  connections: Connections,
  finalRequests: FinalRequests,
  { linger, drain, takesNew }: ClosingTimes,
): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    const startTime = performance.now()
    const silence = new Silence()
    const closed = (): void => {
      clearInterval(timer)
      clearTimeout(last)
      resolve()
    }
    const stop = (): void => {
      stopListening(server, closed)
      finalRequests.end()
    }
    let lastTotal = -1
    /**
     * Closes the listener after a check interval without new connections, including those of this turn of the event
     * loop.
     */
    const stopInSilence = (isOverdue: boolean): void => {
      const previousTotal = lastTotal
      lastTotal = connections.totalCount
      finalRequests.begin()
      setImmediate(() => {
        if (server.listening && (isOverdue || previousTotal === connections.totalCount)) stop()
      })
    }
    const checkConnections = (): void => {
      const passed = performance.now() - startTime
      if (server.listening) {
        if (!takesNew) stop()
        else if (connections.size === 0) {
          lastTotal = connections.totalCount
          stopInSilence(false)
        } else if (passed >= linger) stopInSilence(passed >= linger + maxQuietWait)
      }
      for (const socket of connections) {
        const maxSilence = passed >= 2 * linger ? 0 : linger
        if (!connections.isBusy(socket) && silence.of(socket) >= maxSilence) socket.destroy()
      }
    }
    const timer = setInterval(checkConnections, checkInterval)
    const last = setTimeout(() => {
      if (server.listening) stop()
      for (const socket of connections) socket.destroy()
    }, drain)
    checkConnections()
  })
}

/**
 * Does not use `close` of the HTTP server, which also closes idle connections, except on Bun, whose HTTP server is not
 * a `net.Server`.
 */
function stopListening(server: Server, closed: () => void): void {
  const isOfNet: boolean = server instanceof NetServer
  let open = 2
  const closedOne = (): void => {
    if (--open === 0) closed()
  }
  closeSecondLoopback(server, closedOne)
  if (isOfNet) NetServer.prototype.close.call(server, closedOne)
  else server.close(closedOne)
}

/** Measures for how long connections have sent nothing. */
class Silence {
  readonly #since = new WeakMap<Socket, { readonly bytes: number; readonly at: number }>()

  /** @returns milliseconds since the first call for this connection */
  of(socket: Socket): number {
    const now = performance.now()
    const entry = this.#since.get(socket)
    if (entry?.bytes === socket.bytesRead) return now - entry.at
    this.#since.set(socket, { bytes: socket.bytesRead, at: now })
    return 0
  }
}
