/**
 * Closes a server without losing a request: clients get `Connection: close` before connections are closed. Source: RFC
 * 9112 §9.6; docs/configuration.md, "The end".
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
const lookEvery = 20

/** Longest wait for a moment without new connections, in milliseconds. */
const mostPatience = 250

/**
 * Requests of the last moment before the listener closes. Who is answered may connect again at once, and connections that
 * the system has accepted when the listener closes are reset. So these are answered once it is closed.
 */
export class LastMoment {
  #held: (() => void)[] | undefined

  get isNow(): boolean {
    return this.#held !== undefined
  }

  /** @param serve is called once the listener is closed */
  add(serve: () => void): void {
    this.#held?.push(serve)
  }

  begin(): void {
    this.#held ??= []
  }

  end(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const serve of held) serve()
  }
}

/** @returns once every connection is closed */
export function closeServer(
  server: Server,
  connections: Connections,
  lastMoment: LastMoment,
  { linger, drain, takesNew }: ClosingTimes,
): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    const began = performance.now()
    const silence = new Silence()
    const closed = (): void => {
      clearInterval(looks)
      clearTimeout(last)
      resolve()
    }
    const stop = (): void => {
      stopListening(server, closed)
      lastMoment.end()
    }
    let arrived = -1
    /** Once nobody has connected from one look to the next, those included whom this turn of the loop brings. */
    const stopInSilence = (isLate: boolean): void => {
      const before = arrived
      arrived = connections.arrived
      lastMoment.begin()
      setImmediate(() => {
        if (server.listening && (isLate || before === connections.arrived)) stop()
      })
    }
    const look = (): void => {
      const passed = performance.now() - began
      if (server.listening) {
        if (!takesNew) stop()
        else if (connections.size === 0) {
          arrived = connections.arrived
          stopInSilence(false)
        } else if (passed >= linger) stopInSilence(passed >= linger + mostPatience)
      }
      for (const socket of connections) {
        const most = passed >= 2 * linger ? 0 : linger
        if (!connections.isAsking(socket) && silence.of(socket) >= most) socket.destroy()
      }
    }
    const looks = setInterval(look, lookEvery)
    const last = setTimeout(() => {
      if (server.listening) stop()
      for (const socket of connections) socket.destroy()
    }, drain)
    look()
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
    const known = this.#since.get(socket)
    if (known?.bytes === socket.bytesRead) return now - known.at
    this.#since.set(socket, { bytes: socket.bytesRead, at: now })
    return 0
  }
}
