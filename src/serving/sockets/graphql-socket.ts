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
import {
  closeCodes,
  isRequestError,
  readAuthorization,
  readClientMessage,
  readErrors,
  subprotocol,
  writeErrorMessage,
} from './graphql-messages.js'
import { SecondCount } from './unfinished-messages.js'
import type { WebSocket } from './web-socket.js'

/** The connection that carries the socket. Messages that are sent while it is corked leave together. */
export type SocketConnection = Pick<Writable, 'writableCorked' | 'cork' | 'uncork'>

/** What a socket uses of its connection and of the application. */
export interface SocketOptions {
  readonly transport: SocketConnection
  /** The URL for operations: path and query of the handshake. */
  readonly url: string
  /** Serves an operation. Must not throw. */
  readonly serve: (incoming: Incoming, outgoing: Outgoing) => void
  /** @throws {HttpError} for an invalid token */
  readonly checkToken: (incoming: Incoming) => Promise<void> | void
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
  /** True once the head of the response is an event stream. */
  isStream: boolean
}

/** With more unread bytes than this, no more messages are read from the client or sent to it. */
const maxUnreadBytes = 256 * 1024

/** Maximum operations, and messages that only request a response, of a socket in a second. */
const [maxOperationsPerSecond, maxPingsPerSecond] = [500, 100]

export class GraphqlSocket {
  readonly #socket: WebSocket
  readonly #options: SocketOptions
  readonly #operations = new Map<string, RunningOperation>()
  readonly #queue = createRequestQueue()
  /** Operations in the queue, including those that the client has completed meanwhile. */
  #queuedCount = 0
  readonly #operationRate = new SecondCount(maxOperationsPerSecond)
  readonly #pingRate = new SecondCount(maxPingsPerSecond)
  #carrier: Carrier
  #state: 'new' | 'checking' | 'acknowledged' | 'ending' | 'closed' = 'new'
  /** Whether the client has replied to the last ping. */
  #isAlive = true
  readonly #initTimer: NodeJS.Timeout

  constructor(socket: WebSocket, carrier: Carrier, options: SocketOptions) {
    this.#socket = socket
    this.#carrier = carrier
    this.#options = options
    this.#initTimer = setTimeout(() => {
      this.#close(closeCodes.noInit, 'Connection initialisation timeout')
    }, options.initTimeout).unref()
    socket.on('message', (data, isBinary) => {
      this.#handleMessage(data, isBinary)
    })
    socket.on('ping', (data) => {
      if (this.#state === 'closed') return
      if (socket.bufferedAmount <= maxUnreadBytes) socket.pong(data)
      this.#pauseSlowReader()
    })
    socket.on('pong', () => {
      this.#isAlive = true
    })
    socket.on('error', () => {
      socket.terminate()
    })
    socket.on('close', () => {
      this.#release()
    })
    if (socket.protocol !== subprotocol) {
      this.#close(closeCodes.notAcceptable, 'Subprotocol not acceptable')
    }
  }

  /** Whether the client's token was accepted. */
  get isAcknowledged(): boolean {
    return this.#state === 'acknowledged'
  }

  /** Closes the socket without waiting for the client's reply, so that no incomplete message stays in memory. */
  readonly closeImmediately = (code: number, reason: string): void => {
    this.#close(code, reason)
    setImmediate(() => {
      this.#socket.terminate()
    })
  }

  /** Whether a client waits for the result of an operation that is not a stream. */
  get isBusy(): boolean {
    return [...this.#operations.values()].some(({ isStream }) => !isStream)
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
   * Ends streams without `complete`, so that their clients connect again.
   *
   * @param all true to end the other operations too, which may otherwise finish
   */
  readonly end = (all: boolean): void => {
    for (const [id, { isStream }] of this.#operations) if (all || isStream) this.#cancel(id)
    if (this.#state !== 'closed') this.#state = 'ending'
    this.#closeOnceDone()
  }

  #closeOnceDone(): void {
    if (this.#state === 'ending' && this.#operations.size === 0) {
      this.#close(closeCodes.goingAway, 'Going away')
    }
  }

  #handleMessage(data: Buffer, isBinary: boolean): void {
    // The library also passes on messages that arrived before the socket was closed.
    if (this.#state === 'closed') return
    const message = isBinary ? undefined : readClientMessage(data)
    if (message === undefined) {
      this.#close(closeCodes.invalid, 'Invalid message received')
      return
    }
    switch (message.type) {
      case 'connection_init':
        void this.#initialise(message.payload)
        break
      case 'ping':
        if (this.#pingRate.add(1)) this.#send('{"type":"pong"}')
        else this.closeImmediately(closeCodes.tooMany, 'Too many pings')
        break
      case 'subscribe':
        this.#subscribe(message.id, message.payload)
        break
      case 'complete':
        this.#cancel(message.id)
        this.#closeOnceDone()
        break
      case 'pong':
    }
    this.#pauseSlowReader()
  }

  async #initialise(payload: unknown): Promise<void> {
    if (this.#state !== 'new') {
      this.#close(closeCodes.tooMany, 'Too many initialisation requests')
      return
    }
    this.#state = 'checking'
    const authorization = readAuthorization(payload)
    if (authorization !== undefined) {
      this.#carrier = withAuthorization(this.#carrier, authorization)
    }
    const isValid = await this.#checkToken()
    clearTimeout(this.#initTimer)
    // The socket may have been closed meanwhile.
    if (!isValid || (this.#state as string) !== 'checking') return
    this.#state = 'acknowledged'
    this.#send('{"type":"connection_ack"}')
  }

  /** Closes the socket if its token is invalid or cannot be checked. */
  async #checkToken(): Promise<boolean> {
    try {
      await this.#options.checkToken(
        createTunneledRequest(this.#carrier, { method: 'POST', url: this.#options.url }),
      )
      return true
    } catch (error) {
      const { status, reason } = error instanceof HttpError ? error : { status: 500 }
      if (status === 503) this.#close(closeCodes.tryAgain, 'Try again later', reason)
      else if (status < 500) this.#close(closeCodes.forbidden, 'Forbidden', reason)
      else {
        this.#options.log.error({ err: error }, 'a token could not be checked')
        this.#close(closeCodes.internal, 'Internal server error')
      }
      return false
    }
  }

  #subscribe(id: string, payload: unknown): void {
    // A client that gets this code connects again, to another process.
    if (this.#state === 'ending' || this.#state === 'closed') return
    if (this.#state !== 'acknowledged') {
      this.#close(closeCodes.unauthorized, 'Unauthorized')
      return
    }
    if (!this.#operationRate.add(1)) {
      this.closeImmediately(closeCodes.tooMany, 'Too many operations')
      return
    }
    if (this.#operations.has(id)) {
      // A reason has at most 123 bytes, and a letter up to three.
      this.#close(closeCodes.idInUse, `Subscriber for ${id.slice(0, 31)} already exists`)
      return
    }
    if (Math.max(this.#operations.size, this.#queuedCount) >= this.#options.maxOperations) {
      this.#sendError(id, 'Too many operations are open on this connection.', 'TOO_MANY_STREAMS')
      return
    }
    const operation = { outgoing: new FakeResponse(), payload, isStream: false }
    this.#operations.set(id, operation)
    this.#queuedCount++
    this.#queue.add(() => this.#start(id, operation))
  }

  /** @returns a promise that is fulfilled when the next operation may start */
  async #start(id: string, operation: RunningOperation): Promise<void> {
    this.#queuedCount--
    // The client may have completed it while it waited.
    if (!this.#isCurrent(id, operation)) return
    void this.#serve(id, operation).finally(() => {
      if (this.#isCurrent(id, operation)) this.#cancel(id)
      this.#closeOnceDone()
    })
    await operation.outgoing.head.catch(() => undefined)
  }

  async #serve(id: string, operation: RunningOperation): Promise<void> {
    const { outgoing, payload } = operation
    try {
      const { serve, url } = this.#options
      const body = JSON.stringify(payload)
      serve(createTunneledRequest(this.#carrier, { method: 'POST', url, body }), outgoing)
      const { headers } = await outgoing.head
      if (isEventStream(headers)) {
        operation.isStream = true
        await this.#forwardEvents(id, operation)
      } else {
        const { body: text } = await outgoing.collected()
        if (this.#isCurrent(id, operation))
          this.#send(writeErrorMessage(id, readErrors(String(text))))
      }
    } catch {
      // The response was cut off like a connection. The cause was logged there.
      if (this.#isCurrent(id, operation))
        await this.#reportInterruption(id, operation, 'INTERNAL_SERVER_ERROR')
    }
  }

  async #forwardEvents(id: string, operation: RunningOperation): Promise<void> {
    const key = JSON.stringify(id)
    let isComplete = false
    for await (const { event, data } of readEvents(operation.outgoing.body)) {
      // The body ends now. Node creates an error with its stack for a body that is left before its end.
      if (isComplete) continue
      if (!this.#isCurrent(id, operation)) return
      if (event === 'complete') {
        isComplete = true
        // The client may use the ID again as soon as it reads this.
        this.#operations.delete(id)
        if (!this.#endsWithoutComplete(operation)) this.#send(`{"id":${key},"type":"complete"}`)
        continue
      }
      if (isRequestError(data)) {
        this.#send(writeErrorMessage(id, readErrors(data)))
        return
      }
      await this.#sendWhenDrained(`{"id":${key},"type":"next","payload":${data}}`)
    }
    // The token is no longer valid, or the sign-in is too old for this operation.
    if (this.#isCurrent(id, operation)) await this.#reportInterruption(id, operation, 'FORBIDDEN')
  }

  /** Clients of subscriptions connect again when the application closes. */
  #endsWithoutComplete({ payload }: RunningOperation): boolean {
    return this.#options.isClosing() && this.#options.isSubscription(payload)
  }

  /** Called for a response that was cut off: the application closes, the token is no longer valid, or it has failed. */
  async #reportInterruption(id: string, operation: RunningOperation, code: string): Promise<void> {
    if (this.#options.isClosing() || !(await this.#checkToken())) return
    if (this.#isCurrent(id, operation)) this.#sendError(id, 'The stream was ended.', code)
  }

  #isCurrent(id: string, operation: RunningOperation): boolean {
    return this.#operations.get(id) === operation
  }

  #cancel(id: string): void {
    const operation = this.#operations.get(id)
    this.#operations.delete(id)
    operation?.outgoing.destroy()
  }

  #sendError(id: string, message: string, code: string): void {
    this.#send(writeErrorMessage(id, JSON.stringify([{ message, extensions: { code } }])))
  }

  #send(text: string): void {
    if (this.#state === 'closed') return
    this.#collectWrites()
    this.#socket.send(text)
  }

  /** Lets the messages of this turn of the event loop leave as one write to the operating system. */
  #collectWrites(): void {
    const { transport } = this.#options
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
      const stallTimer = this.#startStallTimer()
      this.#socket.send(text, () => {
        clearTimeout(stallTimer)
        resolve()
      })
    })
  }

  /** Stops reading messages of a client that does not read its own. */
  #pauseSlowReader(): void {
    const socket = this.#socket
    if (socket.bufferedAmount <= maxUnreadBytes || socket.isPaused || this.#state === 'closed')
      return
    socket.pause()
    const stallTimer = this.#startStallTimer()
    // The message is only there for its callback, which runs when all earlier messages were written.
    socket.send('{"type":"pong"}', () => {
      clearTimeout(stallTimer)
      socket.resume()
    })
  }

  /** Closes the socket unless its messages were written before the time limit. @returns the timer to clear then */
  #startStallTimer(): NodeJS.Timeout | undefined {
    const { stall, log } = this.#options
    if (stall === Infinity) return undefined
    return setTimeout(() => {
      const [path] = this.#options.url.split('?', 1)
      log.debug({ path, unread: this.#socket.bufferedAmount }, 'slow reader of a socket ended')
      this.#socket.terminate()
    }, stall).unref()
  }

  /** @param logReason only for the log */
  #close(code: number, reason: string, logReason = reason): void {
    if (this.#state === 'closed') return
    if (code !== closeCodes.goingAway) {
      const [path] = this.#options.url.split('?', 1)
      this.#options.log.debug({ path, code, reason: logReason }, 'socket refused')
    }
    this.#release()
    this.#socket.close(code, reason)
  }

  /** Also called for sockets whose client has disconnected. */
  #release(): void {
    this.#state = 'closed'
    clearTimeout(this.#initTimer)
    for (const id of [...this.#operations.keys()]) this.#cancel(id)
  }
}
