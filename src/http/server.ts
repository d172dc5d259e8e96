/**
 * The Node server: passes requests to the dispatcher, responds to malformed ones itself, and closes without losing any.
 * Source: decisions, Requests; RFC 9112.
 */
import { once } from 'node:events'
import { type Server, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Socket, type AddressInfo } from 'node:net'
import { HttpError, toErrorBody } from '../errors/http-error.js'
import { headBytes, maxHeaders } from './limits.js'
import { closeServer, FinalRequests } from './closing.js'
import { listenAtLocalhost, listenAtSecondLoopback } from './second-loopback.js'
import { dropUnread } from './drain.js'
import { Connections } from './connections.js'
import { currentResponse, Pipelining } from './pipelining.js'
import { Pressure } from './pressure.js'
import { UnreadResponses } from './unread-responses.js'
import type { HeaderList } from './header-list.js'
import { noSniff } from './response-head.js'
import { overloadRefusal } from './refusals.js'
import type { Listener, ListenerOptions, PortHandover } from './listener.js'
import type { Outgoing } from './node-messages.js'
import { parseWithoutUpgrade, type UpgradeHandler } from './upgrade.js'

export interface NodeServerOptions extends Omit<ListenerOptions, 'serve'> {
  readonly serve: (incoming: IncomingMessage, outgoing: Outgoing) => void
  /** Takes connections that request another protocol. Default: they are served like other requests. */
  readonly upgrade?: UpgradeHandler | undefined
}

export function createNodeServer(options: NodeServerOptions): Listener {
  const { times, bounds } = options
  const server = createServer({
    maxHeaderSize: headBytes,
    headersTimeout: times.headers,
    // Bodies have their own time limit in the request path. This one is the last resort.
    requestTimeout: Math.max(times.request, times.upload) + 1000,
    keepAliveTimeout: times.keepAlive === Infinity ? 0 : times.keepAlive,
    connectionsCheckingInterval: Math.min(2000, times.headers),
    // A missing Host gets a response with a body below.
    requireHostHeader: false,
    noDelay: true,
  })
  // Node drops further headers silently, from the 1,001st on. A head with so many is rejected below.
  server.maxHeadersCount = maxHeaders
  // `Connections` counts them. Node tells clients the limit, in `Keep-Alive`.
  server.maxRequestsPerSocket = finite(bounds.requests)
  // A limit above the one that is reported with an error, because even rejected connections have a cost.
  server.maxConnections = finite(Math.ceil(bounds.connections * 1.1))
  const connections = new Connections(
    { ...bounds, stall: times.stall },
    new UnreadResponses(bounds.unread, options.log),
  )
  const pressure = new Pressure(times.delay)
  const finalRequests = new FinalRequests()
  const pipelining = new Pipelining({
    server,
    onLastRequest: (socket) => {
      connections.endAfterNext(socket)
    },
  })
  let isClosing = false
  const countRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (connections.countRequest(incoming.socket) || isClosing) outgoing.shouldKeepAlive = false
  }
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    countRequest(incoming, outgoing)
    const refusal = pressure.isOver ? overloadRefusal() : connections.refusalFor(incoming.socket)
    if (refusal === undefined) {
      if (isClosing && finalRequests.isCollecting)
        finalRequests.add(() => {
          if (!outgoing.destroyed) options.serve(incoming, outgoing)
        })
      else options.serve(incoming, outgoing)
      return
    }
    // Closes the connection of a rejected client, because connections are the scarce resource.
    outgoing.shouldKeepAlive = false
    options.refuse(incoming, outgoing, refusal)
  }
  server.on('request', serve)
  server.on('checkContinue', serve)
  server.on('checkExpectation', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    countRequest(incoming, outgoing)
    options.refuse(incoming, outgoing, new HttpError(417, 'Only 100-continue can be expected.'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket instanceof Socket)
      respondToProtocolError(error, socket, pipelining, options.errorHeaders)
    else socket.destroy()
  })
  server.on('connection', (socket) => {
    connections.add(socket)
    pipelining.watch(socket)
  })
  const { upgrade } = options
  const handOver = (incoming: IncomingMessage, head: Buffer): void => {
    const { socket } = incoming
    const isRefused = pressure.isOver || connections.refusalFor(socket) !== undefined
    const upgraded = isRefused ? undefined : upgrade?.(incoming, socket, head)
    if (upgraded === undefined) {
      parseWithoutUpgrade(server, incoming, socket, head)
    } else connections.setUpgraded(socket, upgraded)
  }
  const takeHead = (incoming: IncomingMessage, head: Buffer): void => {
    const { socket } = incoming
    if (incoming.rawHeaders.length >= 2 * maxHeaders) {
      // Node has dropped headers, possibly the one with the body's length.
      respondToProtocolError(
        { code: 'HPE_HEADER_OVERFLOW' },
        socket,
        pipelining,
        options.errorHeaders,
      )
    } else if (pipelining.isStopped(incoming)) pipelining.hold(incoming, socket, head)
    else if (incoming.method === 'CONNECT') socket.destroy()
    else handOver(incoming, head)
  }
  server.on('connect', (incoming, _socket, head) => {
    takeHead(incoming, head)
  })
  server.on('upgrade', (incoming, _socket, head) => {
    takeHead(incoming, head)
  })
  return {
    listen: (port, host, portHandover) => {
      pressure.start()
      return listen(server, port, host, portHandover)
    },
    close: () => {
      pressure.stop()
      isClosing = true
      // From now on, all responses end their connections.
      for (const socket of connections) {
        const response = currentResponse(socket)
        if (response?.headersSent === false) response.shouldKeepAlive = false
      }
      const takesNew = options.takesNew ?? true
      return closeServer(server, connections, finalRequests, { ...times, takesNew })
    },
  }
}

/** Node uses 0 for no limit. */
function finite(count: number): number {
  return Number.isFinite(count) ? count : 0
}

/** @returns the URL, such as `http://localhost:3000`. Rejects if the address cannot be opened */
export async function listen(
  server: Server,
  port: number,
  host: string,
  portHandover?: PortHandover,
): Promise<string> {
  const address = { port, host, portHandover }
  if (host.toLowerCase() !== 'localhost') return toUrl(await listenAt(server, host, address))
  // Node would listen on one address of the name.
  return listenAtLocalhost(port, {
    listenFirst: async () => (await listenAt(server, '127.0.0.1', address)).port,
    listenSecond: (chosen) => listenAtSecondLoopback(server, chosen),
    close: () => {
      server.close()
      return once(server, 'close')
    },
  })
}

interface ListenTarget {
  readonly port: number
  /** The host of the settings, by which a port is handed over. */
  readonly host: string
  readonly portHandover: PortHandover | undefined
}

function listenAt(
  server: Server,
  address: string,
  { port, host, portHandover }: ListenTarget,
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const inheritedSocket = portHandover?.take(port, host)
    const listening = (): void => {
      server.removeListener('error', reject)
      if (inheritedSocket === undefined) portHandover?.opened(port, host, server)
      resolve(server.address() as AddressInfo)
    }
    if (inheritedSocket !== undefined) server.listen(inheritedSocket, listening)
    // Without a host, Node listens on all addresses. Unlike `::`, this also works on machines without IPv6.
    else server.listen(port, address === '::' ? undefined : address, listening)
  })
}

export function toUrl({ address, family, port }: AddressInfo): string {
  const everywhere = address === '::' || address === '0.0.0.0'
  const host = everywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  return `http://${host}:${port}`
}

/** Connections that have sent bytes which are not an HTTP request. */
const malformedConnections = new WeakSet<Socket>()

/**
 * Responds to bytes that are not an HTTP request: a head that is too large, a client that is too slow, or garbage.
 * Earlier requests get their responses first.
 */
function respondToProtocolError(
  error: Pick<NodeJS.ErrnoException, 'code'>,
  socket: Socket,
  pipelining: Pipelining,
  headers: HeaderList,
): void {
  const { code = '' } = error
  const isOfClient = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
  if (!isOfClient || !socket.writable) {
    socket.destroy()
    return
  }
  if (malformedConnections.has(socket)) return
  const response = currentResponse(socket)
  // The response to a request with a broken body may have begun.
  if (response?.req.complete === false && response.headersSent) {
    socket.destroy()
    return
  }
  malformedConnections.add(socket)
  dropUnread(socket)
  const answer = (): void => {
    socket.write(toProtocolError(code, headers))
    socket.destroySoon()
  }
  if (response?.req.complete === true) pipelining.afterResponse(socket, answer)
  else answer()
}

function toProtocolError(code: string, headers: HeaderList): string {
  const { line, error } = protocolErrorOf(code)
  const body = JSON.stringify(toErrorBody(error))
  const head = [
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    noSniff.join(': '),
  ]
  for (const [name, value] of headers) head.push(`${name}: ${value}`)
  return `HTTP/1.1 ${line}\r\n${head.join('\r\n')}\r\n\r\n${body}`
}

function protocolErrorOf(code: string | undefined): { line: string; error: HttpError } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        line: '431 Request Header Fields Too Large',
        error: new HttpError(431, 'The headers are too large.'),
      }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return {
        line: '413 Payload Too Large',
        error: new HttpError(413, 'The chunk extensions are too large.'),
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        line: '408 Request Timeout',
        error: new HttpError(408, 'The request did not arrive in time.'),
      }
    default:
      return {
        line: '400 Bad Request',
        error: new HttpError(400, 'The request is not well-formed HTTP.'),
      }
  }
}
