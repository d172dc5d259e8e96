/**
 * WebSockets of GraphQL endpoints: accepts their handshakes, and leaves all other requests to the routes. Pages of
 * other origins may open a socket if CORS permits them to read responses, but their cookies are ignored. A server's part
 * is in `node-upgrades.ts` and `bun-sockets.ts`.
 */
import { isFromOwnPage } from '../../http/request-origin.js'
import type { Cors } from '../../http/cors.js'
import { eventHeartbeat } from '../../http/events.js'
import type { Ending } from '../../http/ending.js'
import { FakeResponse } from '../../http/in-memory/fake-response.js'
import { carrierOf, type Carrier } from '../../http/in-memory/internal-request.js'
import type { Incoming } from '../../http/node-messages.js'
import type { RequestSettings } from '../../http/request-settings.js'
import { ServerRequest } from '../../http/server-request.js'
import type { Log } from '../../core/log.js'
import { GraphqlSocket, type SocketConnection, type SocketOptions } from './graphql-socket.js'
import type { UnfinishedLimits } from './unfinished-messages.js'
import type { CloseSocket, WebSocket } from './web-socket.js'

/** A GraphQL endpoint that accepts WebSockets. */
export interface SocketEndpoint {
  /** The path that clients use: `/api/graphql`. */
  readonly path: string
  /** Maximum bytes of an operation. */
  readonly maxBytes: number
  readonly isSubscription: SocketOptions['isSubscription']
}

export interface SocketEndpointsOptions extends Pick<
  SocketOptions,
  'serve' | 'isClosing' | 'maxOperations' | 'initTimeout' | 'stall'
> {
  readonly unfinished: UnfinishedLimits
  readonly endpoints: readonly SocketEndpoint[]
  /** Sets the caller. @throws {HttpError} for an invalid token */
  readonly recognise: (request: ServerRequest) => void | Promise<void>
  readonly cors: Cors
  readonly settings: RequestSettings
  readonly ending: Ending
  readonly log: Log
}

/** Additional bytes of a message for the envelope around the operation. */
const envelopeBytes = 1024

/** Maximum bytes of a message before the connection is acknowledged. */
const maxFirstMessageBytes = 16 * 1024

/** The response to a page of an origin that is not allowed. */
export const forbiddenBody = '{"error":"Forbidden","code":"FORBIDDEN"}'

/** A connection, as a server made it of a handshake. */
export interface OpenedConnection {
  readonly webSocket: WebSocket
  /** Sends the messages of a turn of the event loop together. */
  readonly transport: SocketConnection
  /** Limits what the client may send. @param close closes the socket immediately */
  readonly limit: (maxBytes: () => number, close: CloseSocket) => void
}

/** A handshake for an endpoint. */
export interface Handshake {
  /** False for a page of an origin that is not allowed. */
  readonly isAllowed: boolean
  /** Called once the server has opened the WebSocket. */
  open(connection: OpenedConnection): GraphqlSocket
}

export class SocketEndpoints {
  readonly #options: SocketEndpointsOptions
  readonly #endpoints: ReadonlyMap<string, SocketEndpoint>
  readonly #sockets = new Set<GraphqlSocket>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: SocketEndpointsOptions) {
    this.#options = options
    this.#endpoints = new Map(options.endpoints.map((endpoint) => [endpoint.path, endpoint]))
  }

  get unfinished(): UnfinishedLimits {
    return this.#options.unfinished
  }

  /** Maximum bytes of a message of any endpoint. */
  get maxMessageBytes(): number {
    return Math.max(...this.#options.endpoints.map(({ maxBytes }) => maxBytes)) + envelopeBytes
  }

  isAt(url: string): boolean {
    return this.#endpoints.has(pathOf(url))
  }

  /** @returns undefined for a request that is not a handshake for an endpoint */
  find(incoming: Incoming): Handshake | undefined {
    const endpoint = this.#endpoints.get(pathOf(incoming.url ?? '/'))
    if (endpoint === undefined || !requestsWebSocket(incoming)) return undefined
    const { cors, settings, log } = this.#options
    const request = new ServerRequest(incoming, new FakeResponse(), settings)
    const withCookies = isFromOwnPage(request)
    const isAllowed = withCookies || mayReadResponses(request, cors)
    if (!isAllowed) {
      const reason = `Origin ${JSON.stringify(incoming.headers.origin)} is not allowed`
      log.debug({ path: request.path, reason }, 'socket refused')
    }
    const carrier = carrierOf(incoming, { withCookies })
    const url = incoming.url ?? '/'
    return { isAllowed, open: (connection) => this.#open(connection, url, carrier, endpoint) }
  }

  #open(
    { webSocket, transport, limit }: OpenedConnection,
    url: string,
    carrier: Carrier,
    { maxBytes, isSubscription }: SocketEndpoint,
  ): GraphqlSocket {
    const { settings, recognise, ending } = this.#options
    const socket = new GraphqlSocket(webSocket, carrier, {
      ...this.#options,
      transport,
      url,
      isSubscription,
      checkToken: (incoming) =>
        recognise(new ServerRequest(incoming, new FakeResponse(), settings)),
    })
    const maxMessageBytes = (): number =>
      socket.isAcknowledged ? maxBytes + envelopeBytes : Math.min(maxFirstMessageBytes, maxBytes)
    limit(maxMessageBytes, socket.closeImmediately)
    this.#sockets.add(socket)
    ending.add(socket.end)
    this.#heartbeat ??= setInterval(this.#beatAll, eventHeartbeat.every).unref()
    webSocket.on('close', () => {
      this.#sockets.delete(socket)
      ending.delete(socket.end)
    })
    return socket
  }

  readonly #beatAll = (): void => {
    for (const socket of this.#sockets) socket.beat()
    if (this.#sockets.size > 0) return
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}

function pathOf(url: string): string {
  const mark = url.indexOf('?')
  return mark === -1 ? url : url.slice(0, mark)
}

function requestsWebSocket({ method, headers }: Incoming): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** True if CORS permits the page that opens the socket to read responses. */
function mayReadResponses(request: ServerRequest, cors: Cors): boolean {
  return cors.headersFor(request).has('Access-Control-Allow-Origin')
}
