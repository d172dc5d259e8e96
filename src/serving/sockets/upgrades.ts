/**
 * WebSockets of GraphQL endpoints: accepts their handshakes, and leaves all other requests to the routes. Pages of
 * other origins may open a socket if CORS permits them to read responses, but their cookies are ignored.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isFromOwnPage } from '../../http/request-origin.js'
import type { Cors } from '../../http/cors.js'
import { eventHeartbeat } from '../../http/events.js'
import type { Ending } from '../../http/ending.js'
import { FakeResponse } from '../../http/in-memory/fake-response.js'
import { carrierOf, type Carrier } from '../../http/in-memory/internal-request.js'
import type { RequestSettings } from '../../http/request-settings.js'
import { ServerRequest } from '../../http/server-request.js'
import { destroyAtEnd, type UpgradeHandler } from '../../http/upgrade.js'
import type { Log } from '../../core/log.js'
import { subprotocol } from './graphql-messages.js'
import { GraphqlSocket, type SocketOptions } from './graphql-socket.js'
import { UnfinishedMessages, type UnfinishedLimits } from './unfinished-messages.js'
import { createHandshakes, type WebSocket } from './web-socket.js'

/** A GraphQL endpoint that accepts WebSockets. */
export interface SocketEndpoint {
  /** The path that clients use: `/api/graphql`. */
  readonly path: string
  /** Maximum bytes of an operation. */
  readonly maxBytes: number
  readonly isSubscription: SocketOptions['isSubscription']
}

export interface UpgradesOptions extends Pick<
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

/** @returns undefined if `ws` is not installed or there are no endpoints */
export function createUpgrades(options: UpgradesOptions): UpgradeHandler | undefined {
  const { cors, settings, log } = options
  const endpoints = new Map(
    options.endpoints.flatMap((endpoint) => {
      const handshakes = createHandshakes(endpoint.maxBytes + envelopeBytes, subprotocol)
      return handshakes === undefined ? [] : [[endpoint.path, { endpoint, handshakes }] as const]
    }),
  )
  if (endpoints.size === 0) return undefined
  const openSockets = new OpenSockets(options)
  return (incoming, transport, head) => {
    const found = endpoints.get(pathOf(incoming))
    if (found === undefined || !requestsWebSocket(incoming)) return undefined
    const request = new ServerRequest(incoming, new FakeResponse(), settings)
    const withCookies = isFromOwnPage(request)
    if (!withCookies && !mayReadResponses(request, cors)) {
      const reason = `Origin ${JSON.stringify(incoming.headers.origin)} is not allowed`
      log.debug({ path: request.path, reason }, 'socket refused')
      sendForbidden(transport)
      return { isBusy: false }
    }
    const carrier = carrierOf(incoming, { withCookies })
    let acceptedSocket: GraphqlSocket | undefined
    found.handshakes.handleUpgrade(incoming, transport, head, (webSocket) => {
      const connection = { transport, url: incoming.url ?? '/' }
      acceptedSocket = openSockets.open(webSocket, carrier, connection, found.endpoint)
    })
    return {
      get isBusy() {
        return acceptedSocket?.isBusy === true
      },
    }
  }
}

class OpenSockets {
  readonly #options: UpgradesOptions
  readonly #sockets = new Set<GraphqlSocket>()
  readonly #unfinished: UnfinishedMessages
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: UpgradesOptions) {
    this.#options = options
    this.#unfinished = new UnfinishedMessages(options.unfinished)
  }

  open(
    webSocket: WebSocket,
    carrier: Carrier,
    connection: { readonly transport: Socket; readonly url: string },
    { maxBytes, isSubscription }: SocketEndpoint,
  ): GraphqlSocket {
    const { settings, recognise, ending } = this.#options
    const socket = new GraphqlSocket(webSocket, carrier, {
      ...this.#options,
      ...connection,
      isSubscription,
      checkToken: (incoming) =>
        recognise(new ServerRequest(incoming, new FakeResponse(), settings)),
    })
    const maxMessageBytes = (): number =>
      socket.isAcknowledged ? maxBytes + envelopeBytes : Math.min(maxFirstMessageBytes, maxBytes)
    this.#unfinished.follow(connection.transport, maxMessageBytes, socket.closeImmediately)
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

function pathOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?')
  return mark === -1 ? url : url.slice(0, mark)
}

function requestsWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** True if CORS permits the page that opens the socket to read responses. */
function mayReadResponses(request: ServerRequest, cors: Cors): boolean {
  return cors.headersFor(request).has('Access-Control-Allow-Origin')
}

function sendForbidden(socket: Socket): void {
  destroyAtEnd(socket)
  const body = '{"error":"Forbidden","code":"FORBIDDEN"}'
  socket.end(
    `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
}
