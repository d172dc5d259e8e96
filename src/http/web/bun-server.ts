/**
 * Listens by `Bun.serve`, which hands web-standard requests over. Bun's server counts no connections and shows no bytes of
 * them, so some limits differ: docs/compatibility.md. Source: Bun's documentation, HTTP server.
 */
import type { AddressInfo } from 'node:net'
import { LinkedList, type ListItem } from '../../core/collections.js'
import { HttpError, toErrorBody } from '../../errors/http-error.js'
import type { HeaderList } from '../header-list.js'
import type { Listener, ListenerOptions } from '../listener.js'
import type { Incoming } from '../node-messages.js'
import { Pressure } from '../pressure.js'
import { connectionRefusal, overloadRefusal } from '../refusals.js'
import { noSniff } from '../response-head.js'
import { toUrl } from '../server.js'
import { WebIncoming } from './web-request.js'
import { WebOutgoing, WebResponseForm } from './web-response.js'

/** A WebSocket of Bun's server. */
export interface BunWebSocket {
  /** What receives its messages. */
  readonly data: BunSocketReceiver
  readonly isPaused: boolean
  getBufferedAmount(): number
  sendText(text: string): number
  ping(): void
  pause(): void
  resume(): void
  /** Sends together what is sent in the callback. */
  cork(callback: () => void): void
  close(code: number, reason: string): void
  terminate(): void
}

/** Receives what happens at one WebSocket. */
export interface BunSocketReceiver {
  opened(socket: BunWebSocket): void
  receive(event: 'message' | 'ping' | 'pong', data: Buffer, isBinary: boolean): void
  /** The client has read some of what waited for it. */
  drained(): void
  closed(): void
}

/** The option `websocket` of `Bun.serve`. */
interface BunSocketOptions {
  readonly maxPayloadLength: number
  /** Seconds. */
  readonly idleTimeout: number
  readonly sendPings: boolean
  readonly perMessageDeflate: boolean
  readonly backpressureLimit: number
  open(socket: BunWebSocket): void
  message(socket: BunWebSocket, message: string | Buffer): void
  ping(socket: BunWebSocket, data: Buffer): void
  pong(socket: BunWebSocket, data: Buffer): void
  drain(socket: BunWebSocket): void
  close(socket: BunWebSocket): void
}

interface BunUpgrade {
  readonly data: BunSocketReceiver
  readonly headers?: Readonly<Record<string, string>>
}

/** The WebSockets of an application. */
export interface BunSockets {
  /** Maximum bytes of a message. */
  readonly maxMessageBytes: number
  /** Whether a request may be a handshake, according to its URL. */
  isAt(url: string): boolean
  /**
   * Takes the handshake of a WebSocket.
   *
   * @param upgrade opens the connection; false for an invalid handshake
   * @returns the response to a handshake that is refused; undefined for other requests
   */
  take(
    incoming: Incoming,
    upgrade: (options: BunUpgrade) => boolean,
  ): 'upgraded' | Response | undefined
}

export interface BunServerOptions extends ListenerOptions {
  readonly sockets: BunSockets | undefined
}

interface BunServeOptions {
  readonly port: number
  readonly hostname: string
  /** Seconds after which an idle connection is closed, at most 255. 0 for never. */
  readonly idleTimeout: number
  readonly maxRequestBodySize: number
  readonly development: false
  /** Whether other servers may listen at the same port. */
  readonly reusePort: false
  readonly fetch: (request: Request, server: BunServer) => BunReply
  readonly error: () => Response
  readonly websocket?: BunSocketOptions
}

/** Nothing for a request whose connection has become a WebSocket. */
type BunReply = Response | Promise<Response> | undefined

interface BunServer {
  readonly port: number
  requestIP(request: Request): AddressInfo | null
  /** Sets the time after which the connection of a request is closed if it is idle, from now on. 0 for never. */
  timeout(request: Request, seconds: number): void
  /** Makes the connection of a handshake a WebSocket. @returns false for an invalid handshake */
  upgrade(request: Request, options: BunUpgrade): boolean
  /** Accepts no more connections. @returns once the requests in progress are answered. With true they are aborted */
  stop(closeActiveConnections?: boolean): Promise<void>
}

export interface BunRuntime {
  serve(options: BunServeOptions): BunServer
}

/** Bun, if this is its process. */
export function findBun(): BunRuntime | undefined {
  return (globalThis as { Bun?: BunRuntime }).Bun
}

export function createBunServer(bun: BunRuntime, options: BunServerOptions): Listener {
  return new BunListener(bun, options)
}

/** Bun's maximum, in seconds. */
const maxIdleTimeout = 255
/** Seconds between two ticks of Bun's clock of idle connections. A shorter time may end at once, a longer one does not. */
const bunTick = 4
/** Milliseconds between two checks of pending requests: several in a tick. */
const checkInterval = 1000
/** Seconds without any byte, after which a WebSocket is closed. Clients reply to pings more often. */
const socketIdleTimeout = 60
/** How often another free port is tried, if it is in use on the second address of `localhost`. */
const maxAttempts = 5

class BunListener implements Listener {
  readonly #bun: BunRuntime
  readonly #options: BunServerOptions
  readonly #pressure: Pressure
  readonly #form: WebResponseForm
  readonly #servers: BunServer[] = []
  /** Seconds. */
  readonly #keepAlive: number
  readonly #stall: number
  /** Requests without a complete response. */
  readonly #pending = new LinkedList<PendingRequest>()
  #socketCount = 0
  /** Whether requests have come since the last check. */
  #hasServed = false
  /** When the last check found requests. */
  #servedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(bun: BunRuntime, options: BunServerOptions) {
    this.#bun = bun
    this.#options = options
    this.#pressure = new Pressure(options.times.delay)
    this.#keepAlive = toSeconds(options.times.keepAlive)
    this.#stall = toSeconds(options.times.stall)
    this.#form = new WebResponseForm({
      writesLength: true,
      handlesConnection: true,
      // Bun would print an error.
      toError: () => undefined,
      stall: options.times.stall,
    })
  }

  async listen(port: number, host: string): Promise<string> {
    this.#pressure.start()
    this.#timer ??= setInterval(() => {
      this.#check()
    }, checkInterval).unref()
    if (host.toLowerCase() !== 'localhost') return this.#listenAt(port, host)
    // Clients may resolve the name to either address.
    for (let attempts = 1; ; attempts++) {
      const chosen = this.#serve(port, '127.0.0.1').port
      if (this.#servesSecondLoopback(chosen)) return `http://localhost:${chosen}`
      await this.#stop(true)
      if (port !== 0 || attempts === maxAttempts)
        throw Object.assign(new Error(`port ${chosen} of ::1 is in use`), { code: 'EADDRINUSE' })
    }
  }

  async close(): Promise<void> {
    this.#pressure.stop()
    const { linger, drain, keepAlive } = this.#options.times
    const takesNew = this.#options.takesNew ?? true
    const began = performance.now()
    this.#check()
    // Connected clients, which are told meanwhile that their connections end.
    if (takesNew && began - this.#servedAt < keepAlive) await wait(Math.min(linger, drain))
    const stopped = this.#stop(false)
    await Promise.race([stopped, wait(Math.max(0, drain - (performance.now() - began)))])
    await this.#stop(true)
    clearInterval(this.#timer)
    this.#servers.length = 0
  }

  /** Lets the connections of pending requests be idle. To tell Bun so costs a short request a twentieth of its time. */
  #check(): void {
    if (this.#hasServed) this.#servedAt = performance.now()
    this.#hasServed = false
    for (const pending of this.#pending.toArray()) pending.mayIdle()
  }

  async #stop(all: boolean): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop(all)))
  }

  #listenAt(port: number, host: string): string {
    const server = this.#serve(port, host)
    const family = host.includes(':') ? 'IPv6' : 'IPv4'
    return toUrl({ address: host, family, port: server.port })
  }

  /** @returns false if another program uses the port on `::1` */
  #servesSecondLoopback(port: number): boolean {
    try {
      this.#serve(port, '::1')
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EADDRINUSE') return false
      if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return true
      throw error
    }
  }

  #serve(port: number, hostname: string): BunServer {
    const { sockets, errorHeaders } = this.#options
    const server = this.#bun.serve({
      port,
      hostname,
      idleTimeout: this.#keepAlive,
      // Each route has a limit of its own.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      development: false,
      reusePort: false,
      fetch: this.#fetch,
      error: () => malformedResponse(errorHeaders),
      ...(sockets && { websocket: this.#socketOptions(sockets) }),
    })
    this.#servers.push(server)
    return server
  }

  readonly #fetch = (request: Request, server: BunServer): BunReply => {
    const incoming = new WebIncoming(request, new BunPeer(request, server))
    const outgoing = new WebOutgoing(request, incoming, this.#form)
    const { serve, refuse, bounds, sockets } = this.#options
    this.#hasServed = true
    if (this.#pressure.isOver) refuse(incoming, outgoing, overloadRefusal())
    else if (this.#pending.size + this.#socketCount >= bounds.connections) {
      refuse(incoming, outgoing, connectionRefusal())
    } else {
      if (sockets !== undefined && request.method === 'GET' && sockets.isAt(incoming.url)) {
        const taken = sockets.take(incoming, (options) => server.upgrade(request, options))
        if (taken !== undefined) return taken === 'upgraded' ? undefined : taken
      }
      serve(incoming, outgoing)
    }
    const { response } = outgoing
    if (response === undefined || outgoing.isStream) return this.#follow(request, server, outgoing)
    if (outgoing.isLong) server.timeout(request, this.#stall)
    return response
  }

  #socketOptions({ maxMessageBytes }: BunSockets): BunSocketOptions {
    return {
      maxPayloadLength: maxMessageBytes,
      idleTimeout: socketIdleTimeout,
      sendPings: false,
      perMessageDeflate: false,
      // Bun drops messages above it. Clients that read too slowly are disconnected earlier.
      backpressureLimit: 2 ** 31 - 1,
      open: (socket) => {
        this.#socketCount++
        socket.data.opened(socket)
      },
      message: ({ data }, message) => {
        const isText = typeof message === 'string'
        data.receive('message', isText ? Buffer.from(message) : message, !isText)
      },
      ping: ({ data }, bytes) => {
        data.receive('ping', bytes, true)
      },
      pong: ({ data }, bytes) => {
        data.receive('pong', bytes, true)
      },
      drain: ({ data }) => {
        data.drained()
      },
      close: ({ data }) => {
        this.#socketCount--
        data.closed()
      },
    }
  }

  /** Waits for a response, and until its stream ends. Meanwhile the connection may be idle. */
  #follow(request: Request, server: BunServer, outgoing: WebOutgoing): Promise<Response> {
    const pending = new PendingRequest(request, server)
    this.#pending.add(pending)
    if (this.#keepAlive <= bunTick) pending.mayIdle()
    const done = (): void => {
      this.#pending.delete(pending)
      this.#hasServed = true
      if (outgoing.isLong) server.timeout(request, this.#stall)
      else if (pending.isIdle) server.timeout(request, this.#keepAlive)
    }
    return new Promise((resolve) => {
      outgoing.onBegin(() => {
        if (outgoing.isStream && !outgoing.destroyed) outgoing.once('close', done)
        else done()
        resolve(outgoing.response ?? cutOffResponse())
      })
    })
  }
}

/** A request without a complete response. */
class PendingRequest implements ListItem<PendingRequest> {
  previous: PendingRequest | undefined = undefined
  next: PendingRequest | undefined = undefined
  isListed = false
  /** Whether its connection may be idle. */
  isIdle = false
  readonly #request: Request
  readonly #server: BunServer

  constructor(request: Request, server: BunServer) {
    this.#request = request
    this.#server = server
  }

  mayIdle(): void {
    if (this.isIdle) return
    this.isIdle = true
    this.#server.timeout(this.#request, 0)
  }
}

/** The connection of a request. Bun makes an object of the address, which few requests need. */
class BunPeer {
  readonly encrypted = false
  readonly #request: Request
  readonly #server: BunServer

  constructor(request: Request, server: BunServer) {
    this.#request = request
    this.#server = server
  }

  get remoteAddress(): string | undefined {
    return this.#server.requestIP(this.#request)?.address
  }
}

function toSeconds(milliseconds: number): number {
  return Math.min(maxIdleTimeout, Math.ceil(milliseconds / 1000))
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

/** Bun closes the connection of a body that fails. */
function cutOffResponse(): Response {
  return new Response(
    new ReadableStream({
      pull(controller) {
        controller.error()
      },
    }),
  )
}

/** For requests that Bun cannot make a web-standard request of. */
function malformedResponse(errorHeaders: HeaderList): Response {
  const error = new HttpError(400, 'The request is not valid HTTP/1.1 with a valid Host.', {
    code: 'INVALID_HOST',
  })
  const headers = new Headers([
    ['Content-Type', 'application/json; charset=utf-8'],
    ['Connection', 'close'],
    [...noSniff],
    ...[...errorHeaders].map(([name, value]): [string, string] => [name, value]),
  ])
  return new Response(JSON.stringify(toErrorBody(error)), { status: 400, headers })
}
