/** A server whose every request is answered by the test: the responder over real sockets, without routing. */
import type { CorsOptions, Log } from '../../src/index.js'
import { createServer, request as send, type IncomingMessage, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { createCors } from '../../src/http/cors.js'
import { HeaderList } from '../../src/http/header-list.js'
import { ServerRequest } from '../../src/http/server-request.js'
import { Responder } from '../../src/http/responder.js'
import type { ResultRule } from '../../src/http/result.js'

export { toEventText } from '../../src/http/events.js'
export { PendingResponse } from '../../src/http/pending-response.js'
export { createCors, Responder, HeaderList }

export const plainRule: ResultRule = { status: 200, notFoundWhenEmpty: false }

export interface LogEntry {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly details: Record<string, unknown>
  readonly message: string
}

export function createMemoryLog(): Log & { readonly entries: LogEntry[] } {
  const entries: LogEntry[] = []
  const at = (level: LogEntry['level']) => (details: object, message: string) => {
    entries.push({ level, details: { ...details }, message })
  }
  return { entries, error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
}

export interface ResponderServerOptions {
  readonly cors?: CorsOptions
  /** Answers a request. */
  readonly handle: (request: ServerRequest, responder: Responder) => void
}

/** Closed at the end of its block: `await using server = await startResponderServer(…)`. */
export interface ResponderServer extends AsyncDisposable {
  readonly port: number
  readonly log: LogEntry[]
}

export async function startResponderServer(
  options: ResponderServerOptions,
): Promise<ResponderServer> {
  const log = createMemoryLog()
  const responder = new Responder({ cors: createCors(options.cors), log })
  const server = createServer((incoming, outgoing) => {
    options.handle(new ServerRequest(incoming, outgoing, { trustProxy: false }), responder)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, log: log.entries, [Symbol.asyncDispose]: () => close(server) }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve()
    })
    server.closeAllConnections()
  })
}

export interface SentRequest {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
}

export interface ReceivedResponse {
  readonly status: number
  readonly phrase: string
  /** By lower-case name, repeated headers joined. */
  readonly headers: Record<string, string>
  /** As sent, names in lower case. */
  readonly pairs: readonly (readonly [string, string])[]
  readonly bytes: Buffer
  readonly text: string
  /** False when the connection broke before the body's end. */
  readonly complete: boolean
}

export function sendRequest(port: number, sent: SentRequest = {}): Promise<ReceivedResponse> {
  const { method = 'GET', path = '/', headers = {} } = sent
  return new Promise((resolve, reject) => {
    const request = send({ port, host: '127.0.0.1', method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => undefined)
      response.on('close', () => {
        resolve(toReceived(response, Buffer.concat(chunks)))
      })
    })
    request.on('error', reject)
    request.end()
  })
}

function toReceived(response: IncomingMessage, bytes: Buffer): ReceivedResponse {
  const pairs: (readonly [string, string])[] = []
  for (let index = 0; index < response.rawHeaders.length; index += 2) {
    pairs.push([response.rawHeaders[index]!.toLowerCase(), response.rawHeaders[index + 1]!])
  }
  const headers: Record<string, string> = {}
  for (const [name, value] of pairs) {
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return {
    status: response.statusCode!,
    phrase: response.statusMessage!,
    headers,
    pairs,
    bytes,
    text: bytes.toString(),
    complete: response.complete,
  }
}

/** Starts a server for one request. */
export async function respondOnce(
  options: ResponderServerOptions,
  sent?: SentRequest,
): Promise<ReceivedResponse & { readonly log: LogEntry[] }> {
  await using server = await startResponderServer(options)
  return { ...(await sendRequest(server.port, sent)), log: server.log }
}

/** The response to a handler that returns `result`. */
export function respondWith(
  result: unknown,
  sent?: SentRequest,
  rule: ResultRule = plainRule,
): Promise<ReceivedResponse & { readonly log: LogEntry[] }> {
  return respondBy(() => result, sent, rule)
}

/** The response to this handler. */
export function respondBy(
  handler: () => unknown,
  sent?: SentRequest,
  rule: ResultRule = plainRule,
): Promise<ReceivedResponse & { readonly log: LogEntry[] }> {
  const response = (request: ServerRequest, responder: Responder) => {
    responder.send(request, handler(), rule)
  }
  return respondOnce({ handle: response }, sent)
}

/** All bytes that the server sends for these bytes until the connection ends. */
export function sendBytes(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      resolve(received)
    })
    socket.write(bytes)
  })
}

/** The four headers of every response. */
export const corsPairs = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS'],
  ['access-control-allow-headers', 'Origin, X-Requested-With, Content-Type, Accept, Authorization'],
  ['access-control-expose-headers', 'FreshToken'],
] as const

/** The CORS headers of a response. */
export function corsOf(response: ReceivedResponse): readonly (readonly [string, string])[] {
  return response.pairs.filter(([name]) => name.startsWith('access-control-'))
}
