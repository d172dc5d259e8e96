/**
 * Closes a server without losing a request: clients get `Connection: close` before connections are closed. Source: RFC
 * 9112 §9.6; docs/configuration.md, "Shutdown".
 */
import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { Connections } from './connections.js'

export interface ClosingTimes {
  /** Milliseconds for which open connections are still answered. */
  readonly linger: number
  /** Milliseconds until what is still in flight is cut. */
  readonly drain: number
  /** New connections are accepted and answered meanwhile. False if other workers accept them. */
  readonly takesNew: boolean
}

/** Between two looks at the connections, in milliseconds. */
const checkInterval = 20

/** Longest wait for a moment without new connections, in milliseconds. */
const maxQuietWait = 250

/**
 * Requests of the last moment before the listener closes. Who is answered may connect again at once, and connections that
 * the system has accepted when the listener closes are reset. So these are answered once it is closed.
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
    let arrived = -1
    /** Once nobody has connected from one look to the next, those included whom this turn of the loop brings. */
    const stopInSilence = (isOverdue: boolean): void => {
      const before = arrived
      arrived = connections.arrived
      finalRequests.begin()
      setImmediate(() => {
        if (server.listening && (isOverdue || before === connections.arrived)) stop()
      })
    }
    const checkConnections = (): void => {
      const passed = performance.now() - startTime
      if (server.listening) {
        if (!takesNew) stop()
        else if (connections.size === 0) {
          arrived = connections.arrived
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
 * Not by `close` of an HTTP server, which closes idle connections in the same breath; but on Bun, whose HTTP server is no
 * server of `node:net`.
 */
function stopListening(server: Server, closed: () => void): void {
  const isOfNet: boolean = server instanceof NetServer
  if (isOfNet) NetServer.prototype.close.call(server, closed)
  else server.close(closed)
}

/** How long connections have sent nothing. */
class Silence {
  readonly #since = new WeakMap<Socket, { readonly bytes: number; readonly at: number }>()

  /** @returns milliseconds, counted from the first time that somebody asks */
  of(socket: Socket): number {
    const now = performance.now()
    const entry = this.#since.get(socket)
    if (entry?.bytes === socket.bytesRead) return now - entry.at
    this.#since.set(socket, { bytes: socket.bytesRead, at: now })
    return 0
  }
}
