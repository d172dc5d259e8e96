/**
 * WebSockets of GraphQL endpoints: accepts their handshakes, and leaves all other requests to the routes. Pages of
 * other origins may open a socket if CORS permits them to read responses, but their cookies are ignored.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isSameOrigin } from '../../http/request-origin.js'
import type { Cors } from '../../http/cors.js'
import { eventHeartbeat } from '../../http/events.js'
import type { Ending } from '../../http/ending.js'
import { FakeResponse } from '../../http/in-memory/fake-response.js'
import { carrierOf } from '../../http/in-memory/internal-request.js'
import type { Incoming } from '../../http/node-messages.js'
import type { RequestSettings } from '../../http/request-settings.js'
import { ServerRequest } from '../../http/server-request.js'
import { destroyAtEnd, type UpgradeHandler } from '../../http/upgrade.js'
import type { Log } from '../../core/log.js'
import { GraphqlSocket, subprotocol, type SocketHost } from './graphql-socket.js'
import { UnfinishedMessages, type UnfinishedLimits } from './unfinished-messages.js'
import { createHandshakes } from './web-socket.js'

/** A GraphQL endpoint that accepts WebSockets. */
export interface SocketRoute {
  /** The path that clients use: `/api/graphql`. */
  readonly path: string
  /** Maximum bytes of a request. */
  readonly bytes: number
  readonly isSubscription: SocketHost['isSubscription']
}

export interface UpgradesOptions extends Pick<
  SocketHost,
  'serve' | 'isClosing' | 'maxOperations' | 'initTimeout' | 'stall'
> {
  readonly unfinished: UnfinishedLimits
  readonly routes: readonly SocketRoute[]
  /** Sets the caller. @throws {HttpError} for an invalid token */
  readonly recognise: (request: ServerRequest) => void | Promise<void>
  readonly cors: Cors
  readonly settings: RequestSettings
  readonly ending: Ending
  readonly log: Log
}

/** Additional bytes of a message for the envelope around the operation. */
const envelope = 1024

/** Maximum bytes of a message before the connection is acknowledged. */
const maxFirstMessage = 16 * 1024

/** @returns undefined if `ws` is not installed or there are no endpoints */
export function createUpgrades(options: UpgradesOptions): UpgradeHandler | undefined {
  const { routes, ending, settings, log } = options
  const endpoints = new Map(
    routes.flatMap((route) => {
      const handshakes = createHandshakes(route.bytes + envelope, subprotocol)
      return handshakes === undefined ? [] : [[route.path, { route, handshakes }] as const]
    }),
  )
  if (endpoints.size === 0) return undefined
  const openSockets = new Set<GraphqlSocket>()
  const unfinished = new UnfinishedMessages(options.unfinished)
  let heartbeat: NodeJS.Timeout | undefined
  const beatAll = (): void => {
    for (const socket of openSockets) socket.beat()
    if (openSockets.size > 0) return
    clearInterval(heartbeat)
    heartbeat = undefined
  }
  return (incoming, socket, head) => {
    const endpoint = endpoints.get(pathOf(incoming))
    if (endpoint === undefined || !requestsWebSocket(incoming)) return undefined
    const request = new ServerRequest(incoming, new FakeResponse(), settings)
    const isOwnPage = incoming.headers.origin === undefined || isSameOrigin(request)
    if (!isOwnPage && !isAllowed(options.cors, request)) {
      const reason = `Origin ${JSON.stringify(incoming.headers.origin)} is not allowed`
      log.debug({ path: request.path, reason }, 'socket refused')
      refuse(socket)
      return { isBusy: false }
    }
    const { route, handshakes } = endpoint
    const carrier = carrierOf(incoming, isOwnPage)
    let acceptedSocket: GraphqlSocket | undefined
    handshakes.handleUpgrade(incoming, socket, head, (webSocket) => {
      const graphqlSocket = new GraphqlSocket(webSocket, carrier, {
        ...options,
        transport: socket,
        url: incoming.url ?? '/',
        isSubscription: route.isSubscription,
        recognise: (tunneled) => recognise(tunneled, options),
      })
      acceptedSocket = graphqlSocket
      const maxPayload = (): number =>
        graphqlSocket.isAcknowledged
          ? route.bytes + envelope
          : Math.min(maxFirstMessage, route.bytes)
      unfinished.follow(socket, maxPayload, graphqlSocket.refuse)
      openSockets.add(graphqlSocket)
      ending.add(graphqlSocket.end)
      heartbeat ??= setInterval(beatAll, eventHeartbeat.every).unref()
      webSocket.on('close', () => {
        openSockets.delete(graphqlSocket)
        ending.delete(graphqlSocket.end)
      })
    })
    return {
      get isBusy() {
        return acceptedSocket?.isBusy === true
      },
    }
  }
}

function recognise(
  incoming: Incoming,
  { settings, recognise: recogniseCaller }: UpgradesOptions,
): void | Promise<void> {
  return recogniseCaller(new ServerRequest(incoming, new FakeResponse(), settings))
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?')
  return mark === -1 ? url : url.slice(0, mark)
}

function requestsWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

function isAllowed(cors: Cors, request: ServerRequest): boolean {
  return cors.headersFor(request).has('Access-Control-Allow-Origin')
}

function refuse(socket: Socket): void {
  destroyAtEnd(socket)
  const body = '{"error":"Forbidden"}'
  socket.end(
    `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
}
