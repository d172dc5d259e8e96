/** Listens by `Deno.serve`. Source: Deno's documentation, HTTP server. */
import type { Listener, ListenerOptions } from '../listener.js'
import { PendingRequest, WebListener, type OpenServer } from './web-listener.js'
import { WebIncoming } from './web-request.js'
import { WebOutgoing } from './web-response.js'

interface DenoServeOptions {
  readonly port: number
  readonly hostname: string
  readonly onListen: () => void
  /** Receives what a handler throws, and the error of a stream that is cut off. */
  readonly onError: () => Response
}

interface DenoConnection {
  /** Throws once the response is complete. */
  readonly remoteAddr: { readonly hostname: string }
}

type DenoHandler = (request: Request, info: DenoConnection) => Response | Promise<Response>

interface DenoServer {
  readonly addr: { readonly port: number }
  /** Accepts no more connections, and closes idle ones. @returns once the requests in progress have their responses */
  shutdown(): Promise<void>
  /** Lets the process end while the server is open. */
  unref(): void
}

export interface DenoRuntime {
  serve(options: DenoServeOptions, handler: DenoHandler): DenoServer
}

/** Deno, if this is its process. */
export function findDeno(): DenoRuntime | undefined {
  return (globalThis as { Deno?: DenoRuntime }).Deno
}

export function createDenoServer(deno: DenoRuntime, options: ListenerOptions): Listener {
  return new DenoListener(deno, options)
}

class DenoListener extends WebListener {
  readonly #deno: DenoRuntime

  constructor(deno: DenoRuntime, options: ListenerOptions) {
    super(options, { toError: (message) => new Error(message), asksClient: false })
    this.#deno = deno
  }

  protected override open(port: number, hostname: string): OpenServer {
    const server = this.#deno.serve(
      {
        port,
        hostname,
        onListen: () => undefined,
        onError: () => new Response(null, { status: 500 }),
      },
      this.#handle,
    )
    return new OpenDenoServer(server)
  }

  readonly #handle: DenoHandler = (request, connection) => {
    const incoming = new WebIncoming(request, new DenoPeer(connection))
    const outgoing = new WebOutgoing(request, incoming, this.form)
    const { serve, refuse } = this.options
    const refusal = this.refusal()
    if (refusal === undefined) serve(incoming, outgoing)
    else refuse(incoming, outgoing, refusal)
    const { response } = outgoing
    if (response !== undefined && !outgoing.isStream) return response
    return this.follow(new PendingRequest(outgoing))
  }
}

class OpenDenoServer implements OpenServer {
  readonly #server: DenoServer
  #stopped: Promise<void> | undefined

  constructor(server: DenoServer) {
    this.#server = server
  }

  get port(): number {
    return this.#server.addr.port
  }

  async stop(all = false): Promise<void> {
    this.#stopped ??= this.#server.shutdown()
    // Deno has no way to disconnect a client that does not read its response.
    if (all) this.#server.unref()
    else await this.#stopped
  }
}

/** The client of a request. Deno makes an object of the address, which few requests need. */
class DenoPeer {
  readonly encrypted = false
  readonly #connection: DenoConnection
  #address: string | undefined

  constructor(connection: DenoConnection) {
    this.#connection = connection
  }

  get remoteAddress(): string | undefined {
    this.#address ??= readAddress(this.#connection)
    return this.#address
  }
}

/** @returns undefined after the end of the connection */
function readAddress(connection: DenoConnection): string | undefined {
  try {
    return connection.remoteAddr.hostname
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
