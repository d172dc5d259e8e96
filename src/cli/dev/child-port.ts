/**
 * The port, as seen by a process of `filigree dev`: the application listens at the socket that the supervisor holds, or
 * tells him of the one that it has opened. A process that waits answers in place of an application that does not run.
 */
import type { SendHandle } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { PortKeeper } from '../../http/port-keeper.js'
import type { ChildMessage, ExplainMessage, PortPlace } from './messages.js'
import { refuse } from './page-access.js'

/** What Node has of a socket that listens: of this process alone, whoever else has one to the same port. */
export interface ListeningSocket {
  close(): void
}

export class ChildPort implements PortKeeper {
  /** The application listens at what the supervisor holds. */
  isKept = false
  #given: { readonly place: PortPlace; readonly socket: ListeningSocket } | undefined
  #explainer: Explainer | undefined

  give(place: PortPlace, socket: ListeningSocket): void {
    this.#given = { place, socket }
  }

  take(port: number, host: string): object | undefined {
    const given = this.#given
    this.#given = undefined
    this.isKept = given?.place.port === port && given.place.host === host
    if (this.isKept) return given?.socket
    given?.socket.close()
    return undefined
  }

  /** Of several servers of a program the first is held. */
  opened(port: number, host: string, server: Server): void {
    const { _handle: socket } = server as { _handle?: object | null }
    if (this.isKept || socket === undefined || socket === null) return
    this.isKept = true
    const message: ChildMessage = { is: 'opened', place: { port, host } }
    process.send?.(message, socket as SendHandle)
  }

  /** The application has started, and listens where it will. */
  started(): void {
    this.#given?.socket.close()
    this.#given = undefined
  }

  explain(message: ExplainMessage | undefined, socket: ListeningSocket | undefined): void {
    this.#explainer?.close()
    const { report, secret } = message ?? {}
    this.#explainer =
      report === undefined || secret === undefined || socket === undefined
        ? undefined
        : new Explainer(report, secret, socket)
  }
}

/** Responds with 503 to every request, and with the reason to clients that may read the development page. */
class Explainer {
  #report: string
  readonly #secret: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(report: string, secret: string, socket: ListeningSocket) {
    this.#report = report
    this.#secret = secret
    this.#server = createServer((incoming, outgoing) => {
      this.#answer(incoming, outgoing)
    })
    this.#server.on('connection', (one: Socket) => {
      this.#sockets.add(one)
      one.once('close', () => this.#sockets.delete(one))
    })
    this.#server.listen(socket)
  }

  /** Browsers connect before they ask: who has done so is still answered, and sent to ask again. */
  close(): void {
    this.#report = 'The application was started again meanwhile. Ask once more.'
    this.#server.close()
    for (const socket of this.#sockets) socket.unref()
  }

  #answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const text =
      refuse(incoming, this.#secret) === undefined
        ? this.#report
        : 'The application does not run at the moment. The terminal of `filigree dev` shows why.'
    incoming.resume()
    outgoing.writeHead(503, {
      ...{ 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
      ...{ 'Cache-Control': 'no-store', Connection: 'close' },
      // The second for browsers, which show the application as soon as it runs.
      ...{ 'Retry-After': '1', Refresh: '1' },
    })
    outgoing.end(`${text}\n`)
  }
}
