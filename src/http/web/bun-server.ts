/** Listens by `Bun.serve`. Source: Bun's documentation, HTTP server. */
import type { AddressInfo } from 'node:net'
import { HttpError, toErrorBody } from '../../errors/http-error.js'
import type { HeaderList } from '../header-list.js'
import type { Listener, ListenerOptions } from '../listener.js'
import type { Incoming } from '../node-messages.js'
import { noSniff } from '../response-head.js'
import { PendingRequest, WebListener, type OpenServer } from './web-listener.js'
import { WebIncoming } from './web-request.js'
import { WebOutgoing } from './web-response.js'

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

interface BunServer extends OpenServer {
  requestIP(request: Request): AddressInfo | null
  /** Sets the time after which the connection of a request is closed if it is idle, from now on. 0 for never. */
  timeout(request: Request, seconds: number): void
  /** Makes the connection of a handshake a WebSocket. @returns false for an invalid handshake */
  upgrade(request: Request, options: BunUpgrade): boolean
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
/** Seconds without any byte, after which a WebSocket is closed. Clients reply to pings more often. */
const socketIdleTimeout = 60

/** For how long a connection may be idle, in seconds. */
interface IdleTimes {
  readonly keepAlive: number
  /** While its client reads a long body. */
  readonly stall: number
}

class BunListener extends WebListener<BunServerOptions> {
  readonly #bun: BunRuntime
  readonly #idleTimes: IdleTimes
  #socketCount = 0

  constructor(bun: BunRuntime, options: BunServerOptions) {
    // Bun would print an error.
    super(options, { toError: () => undefined, asksClient: true })
    this.#bun = bun
    const { keepAlive, stall } = options.times
    this.#idleTimes = { keepAlive: toSeconds(keepAlive), stall: toSeconds(stall) }
  }

  protected override open(port: number, hostname: string): BunServer {
    const { sockets, errorHeaders } = this.options
    return this.#bun.serve({
      port,
      hostname,
      idleTimeout: this.#idleTimes.keepAlive,
      // Each route has a limit of its own.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      development: false,
      reusePort: false,
      fetch: this.#fetch,
      error: () => malformedResponse(errorHeaders),
      ...(sockets && { websocket: this.#socketOptions(sockets) }),
    })
  }

  readonly #fetch = (request: Request, server: BunServer): BunReply => {
    const incoming = new WebIncoming(request, new BunPeer(request, server))
    const outgoing = new WebOutgoing(request, incoming, this.form)
    const { serve, refuse, sockets } = this.options
    const refusal = this.refusal(this.#socketCount)
    if (refusal !== undefined) refuse(incoming, outgoing, refusal)
    else {
      if (sockets !== undefined && request.method === 'GET' && sockets.isAt(incoming.url)) {
        const taken = sockets.take(incoming, (options) => server.upgrade(request, options))
        if (taken !== undefined) return taken === 'upgraded' ? undefined : taken
      }
      serve(incoming, outgoing)
    }
    const { response } = outgoing
    if (response === undefined || outgoing.isStream) return this.#wait(request, server, outgoing)
    if (outgoing.isLong) server.timeout(request, this.#idleTimes.stall)
    return response
  }

  #wait(request: Request, server: BunServer, outgoing: WebOutgoing): Promise<Response> {
    const pending = new BunRequest(request, server, outgoing, this.#idleTimes)
    const { keepAlive } = this.#idleTimes
    if (keepAlive > 0 && keepAlive <= bunTick) pending.lasts()
    return this.follow(pending)
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
}

/** A pending request. Its connection may be idle. To tell Bun so at once costs a short request a twentieth of its time. */
class BunRequest extends PendingRequest {
  readonly #request: Request
  readonly #server: BunServer
  readonly #times: IdleTimes
  #mayIdle = false

  constructor(request: Request, server: BunServer, outgoing: WebOutgoing, times: IdleTimes) {
    super(outgoing)
    this.#request = request
    this.#server = server
    this.#times = times
  }

  override lasts(): void {
    if (this.#mayIdle) return
    this.#mayIdle = true
    this.#server.timeout(this.#request, 0)
  }

  override ended(): void {
    const { keepAlive, stall } = this.#times
    if (this.outgoing.isLong) this.#server.timeout(this.#request, stall)
    else if (this.#mayIdle) this.#server.timeout(this.#request, keepAlive)
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

/** @returns 0 for a time without an end */
function toSeconds(milliseconds: number): number {
  if (milliseconds === Infinity) return 0
  return Math.min(maxIdleTimeout, Math.ceil(milliseconds / 1000))
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
