/**
 * Listens by `Bun.serve`, which hands web-standard requests over. Bun's server counts no connections and shows no bytes of
 * them, so some limits differ: docs/compatibility.md. Source: Bun's documentation, HTTP server.
 */
import type { AddressInfo } from 'node:net'
import { HttpError, toErrorBody } from '../../errors/http-error.js'
import type { HeaderList } from '../header-list.js'
import type { Listener, ListenerOptions } from '../listener.js'
import { Pressure } from '../pressure.js'
import { connectionRefusal, overloadRefusal } from '../refusals.js'
import { noSniff } from '../response-head.js'
import { toUrl } from '../server.js'
import { WebIncoming } from './web-request.js'
import { WebOutgoing, WebResponseForm } from './web-response.js'

interface BunServeOptions {
  readonly port: number
  readonly hostname: string
  /** Seconds after which an idle connection is closed, at most 255. 0 for never. */
  readonly idleTimeout: number
  readonly maxRequestBodySize: number
  readonly development: false
  /** Whether other servers may listen at the same port. */
  readonly reusePort: false
  readonly fetch: (request: Request, server: BunServer) => Response | Promise<Response>
  readonly error: () => Response
}

interface BunServer {
  readonly port: number
  requestIP(request: Request): AddressInfo | null
  /** Sets the time after which the connection of a request is closed if it is idle, from now on. 0 for never. */
  timeout(request: Request, seconds: number): void
  /** Accepts no more connections. @returns once the requests in progress are answered. With true they are aborted */
  stop(closeActiveConnections?: boolean): Promise<void>
}

interface BunRuntime {
  serve(options: BunServeOptions): BunServer
}

/** Bun, if this is its process. */
function findBun(): BunRuntime | undefined {
  return (globalThis as { Bun?: BunRuntime }).Bun
}

/** @returns undefined on other runtimes */
export function createBunServer(options: ListenerOptions): Listener | undefined {
  const bun = findBun()
  return bun && new BunListener(bun, options)
}

/** Bun's maximum, in seconds. */
const maxIdleTimeout = 255
/** How often another free port is tried, if it is in use on the second address of `localhost`. */
const maxAttempts = 5

class BunListener implements Listener {
  readonly #bun: BunRuntime
  readonly #options: ListenerOptions
  readonly #pressure: Pressure
  readonly #form: WebResponseForm
  readonly #servers: BunServer[] = []
  /** Seconds. */
  readonly #keepAlive: number
  readonly #stall: number
  /** Requests without a complete response. */
  #pendingCount = 0
  #servedAt = -Infinity

  constructor(bun: BunRuntime, options: ListenerOptions) {
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
    // Connected clients, which are told meanwhile that their connections end.
    if (takesNew && began - this.#servedAt < keepAlive) await wait(Math.min(linger, drain))
    const stopped = this.#stop(false)
    await Promise.race([stopped, wait(Math.max(0, drain - (performance.now() - began)))])
    await this.#stop(true)
    this.#servers.length = 0
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
    const server = this.#bun.serve({
      port,
      hostname,
      idleTimeout: this.#keepAlive,
      // Each route has a limit of its own.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      development: false,
      reusePort: false,
      fetch: this.#fetch,
      error: () => malformedResponse(this.#options.errorHeaders),
    })
    this.#servers.push(server)
    return server
  }

  readonly #fetch = (request: Request, server: BunServer): Response | Promise<Response> => {
    const incoming = new WebIncoming(request, new BunPeer(request, server))
    const outgoing = new WebOutgoing(request, incoming, this.#form)
    const { serve, refuse, bounds } = this.#options
    this.#servedAt = performance.now()
    if (this.#pressure.isOver) refuse(incoming, outgoing, overloadRefusal())
    else if (this.#pendingCount >= bounds.connections) {
      refuse(incoming, outgoing, connectionRefusal())
    } else serve(incoming, outgoing)
    const { response } = outgoing
    if (response === undefined || outgoing.isStream) return this.#follow(request, server, outgoing)
    if (outgoing.isLong) server.timeout(request, this.#stall)
    return response
  }

  /** Waits for a response, and until its stream ends. Meanwhile the connection may be idle. */
  #follow(request: Request, server: BunServer, outgoing: WebOutgoing): Promise<Response> {
    this.#pendingCount++
    server.timeout(request, 0)
    const done = (): void => {
      this.#pendingCount--
      this.#servedAt = performance.now()
      server.timeout(request, outgoing.isLong ? this.#stall : this.#keepAlive)
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
