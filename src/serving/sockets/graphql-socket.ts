/**
 * A WebSocket with the protocol graphql-transport-ws. Each operation becomes an internal POST request that accepts an
 * event stream, with the gate, limits, interceptors, log and metrics of every request. Everything that is available by
 * server-sent events is available here too.
 *
 * ```
 * connection_init → the token is checked                        → connection_ack
 * subscribe       → POST /graphql, Accept: text/event-stream    → next …, then complete or error
 * complete        → the client of that request has disconnected
 * ```
 *
 * The token comes in `connection_init` (`{ "authorization": "Bearer …" }` or `{ "token": "…" }`), in the
 * `Authorization` of the handshake, or in the cookie. Tokens are not rotated, because no response header could carry
 * the next one. Source: GraphQL over WebSocket Protocol (graphql-transport-ws); docs/graphql.md, "WebSockets".
 */

import type { Writable } from 'node:stream'
import { isMap, parseJson } from '../../core/json.js'
import { readJson } from '../../http/bodies/json.js'
import type { Log } from '../../core/log.js'
import { HttpError } from '../../errors/http-error.js'
import { isEventStream, readEvents } from '../../http/in-memory/event-reader.js'
import { FakeResponse } from '../../http/in-memory/fake-response.js'
import {
  createRequestQueue,
  createTunneledRequest,
  withAuthorization,
  type Carrier,
} from '../../http/in-memory/internal-request.js'
import type { Incoming, Outgoing } from '../../http/node-messages.js'
import { SecondCount } from './unfinished-messages.js'
import type { WebSocket } from './web-socket.js'

/** The beginning of an execution result whose operation did not run. */
const notRun = '{"errors":'

type ClientMessage =
  | { readonly type: 'connection_init'; readonly payload: unknown }
  | { readonly type: 'ping' | 'pong' }
  | { readonly type: 'subscribe'; readonly id: string; readonly payload: object }
  | { readonly type: 'complete'; readonly id: string }

/** @returns undefined if the data is not a message of the protocol */
function readMessage(data: Buffer): ClientMessage | undefined {
  const message = parseMessage(data)
  if (!isMap(message)) return undefined
  const { type, id, payload } = message
  switch (type) {
    case 'connection_init':
    case 'ping':
    case 'pong':
      return isOptionalMap(payload) ? { type, payload } : undefined
    case 'subscribe':
      return isId(id) && isOperation(payload) ? { type, id, payload } : undefined
    case 'complete':
      return isId(id) ? { type, id } : undefined
    default:
      return undefined
  }
}

/** Applies the limits of a JSON body. */
function parseMessage(data: Buffer): unknown {
  try {
    return readJson(data)
  } catch {
    return undefined
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The parameters of GraphQL over HTTP, `query` included. */
function isOperation(payload: unknown): payload is object {
  if (!isMap(payload) || typeof payload.query !== 'string') return false
  const { operationName, variables, extensions } = payload
  const isName =
    operationName === undefined || operationName === null || typeof operationName === 'string'
  return isName && isOptionalMap(variables) && isOptionalMap(extensions)
}

function isOptionalMap(value: unknown): boolean {
  return value === undefined || value === null || isMap(value)
}

/** Long IDs are refused, because each message repeats the ID. */
function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256
}

/** Reads the token: as a header with either case of its first letter, or as the plain token. */
function readAuthorization(payload: unknown): string | undefined {
  if (!isMap(payload)) return undefined
  const { headers } = payload
  for (const from of isMap(headers) ? [payload, headers] : [payload]) {
    const header = from.authorization ?? from.Authorization
    if (typeof header === 'string') return header
  }
  return typeof payload.token === 'string' ? `Bearer ${payload.token}` : undefined
}

function toError(id: string, errors: string): string {
  return `{"id":${JSON.stringify(id)},"type":"error","payload":${errors}}`
}

/** The errors of a JSON response: GraphQL errors, otherwise the framework's error in that form. */
function readErrors(text: string): string {
  const answer = parse(text)
  if (isMap(answer)) {
    const { errors, error, code } = answer
    if (Array.isArray(errors) && errors.length > 0) return JSON.stringify(errors)
    const extensions = typeof code === 'string' ? { extensions: { code } } : {}
    if (typeof error === 'string') return JSON.stringify([{ message: error, ...extensions }])
  }
  return '[{"message":"Internal server error"}]'
}

export const subprotocol = 'graphql-transport-ws'

/** The parts of the application that sockets use. */
export interface SocketHost {
  /** The connection that carries the socket. */
  readonly transport: Writable
  /** The URL for operations: path and query of the handshake. */
  readonly url: string
  /** Serves an operation. Must not throw. */
  readonly serve: (incoming: Incoming, outgoing: Outgoing) => void
  /** @throws {HttpError} for an invalid token */
  readonly recognise: (incoming: Incoming) => Promise<void> | void
  /** Whether this body opens a subscription. */
  readonly isSubscription: (body: unknown) => boolean
  /** True once the application closes. */
  readonly isClosing: () => boolean
  /** Maximum concurrent operations of one socket. */
  readonly maxOperations: number
  /** Milliseconds within which `connection_init` must arrive. */
  readonly initTimeout: number
  /** Milliseconds within which a client must read its waiting messages. */
  readonly stall: number
  readonly log: Log
}

interface RunningOperation {
  readonly outgoing: FakeResponse
  readonly payload: unknown
  /** The head of the response was sent: it is a stream, or ends immediately. */
  streams: boolean
}

/** With more unread bytes than this, no more messages are read from the client or sent to it. */
const maxUnreadBytes = 256 * 1024

/** Maximum operations, and messages that only request a response, of a socket in a second. */
const [maxOperationsPerSecond, maxPingsPerSecond] = [500, 100]

const codes = {
  goingAway: 1001,
  tryAgain: 1013,
  invalid: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  notAcceptable: 4406,
  noInit: 4408,
  idInUse: 4409,
  tooMany: 4429,
  internal: 4500,
} as const

export class GraphqlSocket {
  readonly #socket: WebSocket
  readonly #host: SocketHost
  readonly #operations = new Map<string, RunningOperation>()
  readonly #queue = createRequestQueue()
  /** Operations in the queue, with those that the client has completed meanwhile. */
  #queued = 0
  readonly #operationRate = new SecondCount(maxOperationsPerSecond)
  readonly #pingRate = new SecondCount(maxPingsPerSecond)
  #carrier: Carrier
  #state: 'new' | 'checking' | 'acknowledged' | 'ending' | 'closed' = 'new'
  /** Whether the client has replied to the last ping. */
  #isAlive = true
  readonly #initLimit: NodeJS.Timeout

  constructor(socket: WebSocket, carrier: Carrier, host: SocketHost) {
    this.#socket = socket
    this.#carrier = carrier
    this.#host = host
    this.#initLimit = setTimeout(() => {
      this.#close(codes.noInit, 'Connection initialisation timeout')
    }, host.initTimeout).unref()
    socket.on('message', (data, isBinary) => {
      this.#take(data, isBinary)
    })
    socket.on('ping', (data) => {
      if (this.#state === 'closed') return
      if (socket.bufferedAmount <= maxUnreadBytes) socket.pong(data)
      this.#holdBack()
    })
    socket.on('pong', () => {
      this.#isAlive = true
    })
    socket.on('error', () => {
      socket.terminate()
    })
    socket.on('close', () => {
      this.#onLeave()
    })
    if (socket.protocol !== subprotocol) {
      this.#close(codes.notAcceptable, 'Subprotocol not acceptable')
    }
  }

  /** Whether the client's token was accepted. */
  get isAcknowledged(): boolean {
    return this.#state === 'acknowledged'
  }

  /** Closes the socket without waiting for its client, so that no incomplete message stays in memory. */
  readonly refuse = (code: number, reason: string): void => {
    this.#close(code, reason)
    setImmediate(() => {
      this.#socket.terminate()
    })
  }

  /** Whether an operation runs that is not a stream, whose client waits for the outcome. */
  get isBusy(): boolean {
    return [...this.#operations.values()].some(({ streams }) => !streams)
  }

  /** Sends a ping. Closes the socket of a client that has not replied to the previous one. */
  beat(): void {
    if (!this.#isAlive) this.#socket.terminate()
    else {
      this.#isAlive = false
      this.#socket.ping()
    }
  }

  /**
   * Ends streams without completing them, because their clients connect again. Other operations may finish, unless
   * `all` is true.
   */
  readonly end = (all: boolean): void => {
    for (const [id, { streams }] of this.#operations) if (all || streams) this.#drop(id)
    if (this.#state !== 'closed') this.#state = 'ending'
    this.#closeOnceDone()
  }

  #closeOnceDone(): void {
    if (this.#state === 'ending' && this.#operations.size === 0) {
      this.#close(codes.goingAway, 'Going away')
    }
  }

  #take(data: Buffer, isBinary: boolean): void {
    // The library passes on the messages that it has already received.
    if (this.#state === 'closed') return
    const message = isBinary ? undefined : readMessage(data)
    if (message === undefined) {
      this.#close(codes.invalid, 'Invalid message received')
      return
    }
    switch (message.type) {
      case 'connection_init':
        void this.#init(message.payload)
        break
      case 'ping':
        if (this.#pingRate.add(1)) this.#send('{"type":"pong"}')
        else this.refuse(codes.tooMany, 'Too many pings')
        break
      case 'subscribe':
        this.#subscribe(message.id, message.payload)
        break
      case 'complete':
        this.#drop(message.id)
        this.#closeOnceDone()
        break
      case 'pong':
    }
    this.#holdBack()
  }

  async #init(payload: unknown): Promise<void> {
    if (this.#state !== 'new') {
      this.#close(codes.tooMany, 'Too many initialisation requests')
      return
    }
    this.#state = 'checking'
    const authorization = readAuthorization(payload)
    if (authorization !== undefined) {
      this.#carrier = withAuthorization(this.#carrier, authorization)
    }
    const isGood = await this.#checkToken()
    clearTimeout(this.#initLimit)
    // The socket may have been closed meanwhile.
    if (!isGood || (this.#state as string) !== 'checking') return
    this.#state = 'acknowledged'
    this.#send('{"type":"connection_ack"}')
  }

  /** Closes the socket if its token is invalid or cannot be checked. */
  async #checkToken(): Promise<boolean> {
    try {
      await this.#host.recognise(
        createTunneledRequest(this.#carrier, { method: 'POST', url: this.#host.url }),
      )
      return true
    } catch (error) {
      const { status, reason } = error instanceof HttpError ? error : { status: 500 }
      if (status === 503) this.#close(codes.tryAgain, 'Try again later', reason)
      else if (status < 500) this.#close(codes.forbidden, 'Forbidden', reason)
      else {
        this.#host.log.error({ err: error }, 'a token could not be checked')
        this.#close(codes.internal, 'Internal server error')
      }
      return false
    }
  }

  #subscribe(id: string, payload: unknown): void {
    // A client that gets this code connects again, to another process.
    if (this.#state === 'ending' || this.#state === 'closed') return
    if (this.#state !== 'acknowledged') {
      this.#close(codes.unauthorized, 'Unauthorized')
      return
    }
    if (!this.#operationRate.add(1)) {
      this.refuse(codes.tooMany, 'Too many operations')
      return
    }
    if (this.#operations.has(id)) {
      // A reason has at most 123 bytes, and a letter up to three.
      this.#close(codes.idInUse, `Subscriber for ${id.slice(0, 31)} already exists`)
      return
    }
    if (Math.max(this.#operations.size, this.#queued) >= this.#host.maxOperations) {
      this.#fail(id, 'Too many operations are open on this connection.', 'TOO_MANY_STREAMS')
      return
    }
    const operation = { outgoing: new FakeResponse(), payload, streams: false }
    this.#operations.set(id, operation)
    this.#queued++
    this.#queue.add(() => this.#start(id, operation))
  }

  /** @returns a promise that is fulfilled when the next operation may start */
  async #start(id: string, operation: RunningOperation): Promise<void> {
    this.#queued--
    // The client may have completed it while it waited.
    if (!this.#isRunning(id, operation)) return
    void this.#run(id, operation).finally(() => {
      if (this.#isRunning(id, operation)) this.#drop(id)
      this.#closeOnceDone()
    })
    await operation.outgoing.head.catch(() => undefined)
  }

  async #run(id: string, operation: RunningOperation): Promise<void> {
    const { outgoing, payload } = operation
    try {
      const { serve, url } = this.#host
      const body = JSON.stringify(payload)
      serve(createTunneledRequest(this.#carrier, { method: 'POST', url, body }), outgoing)
      const { headers } = await outgoing.head
      if (isEventStream(headers)) {
        operation.streams = true
        await this.#pass(id, operation)
      } else {
        const { body: text } = await outgoing.collected()
        if (this.#isRunning(id, operation)) this.#send(toError(id, readErrors(String(text))))
      }
    } catch {
      // The response was cut off like a connection. The cause was logged there.
      if (this.#isRunning(id, operation))
        await this.#explainEnd(id, operation, 'INTERNAL_SERVER_ERROR')
    }
  }

  async #pass(id: string, operation: RunningOperation): Promise<void> {
    const key = JSON.stringify(id)
    let isComplete = false
    for await (const { event, data } of readEvents(operation.outgoing.body)) {
      // The body ends now. Node creates an error with its stack for a body that is left before its end.
      if (isComplete) continue
      if (!this.#isRunning(id, operation)) return
      if (event === 'complete') {
        isComplete = true
        // The client may use the ID again as soon as it reads this.
        this.#operations.delete(id)
        if (!this.#leavesOpen(operation)) this.#send(`{"id":${key},"type":"complete"}`)
        continue
      }
      if (data.startsWith(notRun)) {
        this.#send(toError(id, readErrors(data)))
        return
      }
      await this.#sendWhenDrained(`{"id":${key},"type":"next","payload":${data}}`)
    }
    // The token is no longer valid, or the sign-in is too old for this operation.
    if (this.#isRunning(id, operation)) await this.#explainEnd(id, operation, 'FORBIDDEN')
  }

  /** When the application ends, its subscriptions end without `complete`. */
  #leavesOpen({ payload }: RunningOperation): boolean {
    return this.#host.isClosing() && this.#host.isSubscription(payload)
  }

  /** A stream has ended without `complete`: the application closes, or the token is no longer valid. */
  async #explainEnd(id: string, operation: RunningOperation, code: string): Promise<void> {
    if (this.#host.isClosing() || !(await this.#checkToken())) return
    if (this.#isRunning(id, operation)) this.#fail(id, 'The stream was ended.', code)
  }

  #isRunning(id: string, operation: RunningOperation): boolean {
    return this.#operations.get(id) === operation
  }

  #drop(id: string): void {
    const operation = this.#operations.get(id)
    this.#operations.delete(id)
    operation?.outgoing.destroy()
  }

  #fail(id: string, message: string, code: string): void {
    this.#send(toError(id, JSON.stringify([{ message, extensions: { code } }])))
  }

  #send(text: string): void {
    if (this.#state === 'closed') return
    this.#collectWrites()
    this.#socket.send(text)
  }

  /** Lets the messages of this turn of the event loop leave as one write to the operating system. */
  #collectWrites(): void {
    const { transport } = this.#host
    if (transport.writableCorked > 0) return
    transport.cork()
    process.nextTick(() => {
      transport.uncork()
    })
  }

  /** Waits while the client does not read. The producers of further messages wait too. */
  #sendWhenDrained(text: string): Promise<void> | undefined {
    if (this.#state === 'closed') return undefined
    if (this.#socket.bufferedAmount <= maxUnreadBytes) {
      this.#send(text)
      return undefined
    }
    return new Promise((resolve) => {
      const slow = this.#endSlowReader()
      this.#socket.send(text, () => {
        clearTimeout(slow)
        resolve()
      })
    })
  }

  /** Stops reading messages of a client that does not read its own. */
  #holdBack(): void {
    const socket = this.#socket
    if (socket.bufferedAmount <= maxUnreadBytes || socket.isPaused || this.#state === 'closed')
      return
    socket.pause()
    const slow = this.#endSlowReader()
    socket.send('{"type":"pong"}', () => {
      clearTimeout(slow)
      socket.resume()
    })
  }

  /** Closes the socket unless the client reads its waiting messages in time, however slowly. */
  #endSlowReader(): NodeJS.Timeout | undefined {
    const { stall, log } = this.#host
    if (stall === Infinity) return undefined
    return setTimeout(() => {
      const [path] = this.#host.url.split('?', 1)
      log.debug({ path, unread: this.#socket.bufferedAmount }, 'slow reader of a socket ended')
      this.#socket.terminate()
    }, stall).unref()
  }

  /** @param logReason only for the log */
  #close(code: number, reason: string, logReason = reason): void {
    if (this.#state === 'closed') return
    if (code !== codes.goingAway) {
      const [path] = this.#host.url.split('?', 1)
      this.#host.log.debug({ path, code, reason: logReason }, 'socket refused')
    }
    this.#onLeave()
    this.#socket.close(code, reason)
  }

  #onLeave(): void {
    this.#state = 'closed'
    clearTimeout(this.#initLimit)
    for (const id of [...this.#operations.keys()]) this.#drop(id)
  }
}
