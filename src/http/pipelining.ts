/**
 * HTTP/1.1 pipelining, one request of a connection at a time. Node's parser hands over all requests of a chunk one after the
 * other. Here the parser stops before the second one. The bytes from there on wait, unparsed, until the response to the first
 * request is written and other connections had a turn. Source: decisions, Security limits; RFC 9112 §9.3.2.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ChunkedBodies, isChunked } from './chunked-bodies.js'
import { dropUnread } from './drain.js'
import { toHeadBytes } from './upgrade.js'

/** Requests that may wait on a connection. The connection is closed after the responses to them. */
const maxWaitingRequests = 64

/** With more waiting bytes than this, nothing more is read from a connection. */
const maxWaitingBytes = 64 * 1024

/** The result of `onIncoming` that stops Node's parser after a head, as for an upgrade. */
const stopParser = 2

/** Node's function that takes a request from a parser. */
type HandOver = (incoming: IncomingMessage, keepAlive: boolean) => number

/** The key of a connection's function of Node that takes requests. */
const handOverKey = Symbol('handOver')

/** The used private properties of Node's sockets. Other runtimes have no `parser`. */
interface ParsedSocket {
  readonly parser?: {
    onIncoming?: HandOver | null
  } | null
  readonly _httpMessage?: ServerResponse | null
  [handOverKey]?: HandOver
}

/** @returns the response that this connection will send next, available once the head of its request is complete */
export function currentResponse(socket: object): ServerResponse | undefined {
  return (socket as ParsedSocket)._httpMessage ?? undefined
}

/** Requests that waited together on a connection. */
interface WaitingRequests {
  /** Where their bytes end, counted from the first byte of the connection. */
  readonly end: number
  /** How many of them have started. */
  started: number
}

interface PipeliningOptions {
  readonly server: Server
  /** Called before the last request of a connection is parsed. */
  readonly onLastRequest: (socket: Socket) => void
}

export class Pipelining {
  readonly #options: PipeliningOptions
  readonly #batches = new WeakMap<Socket, WaitingRequests>()
  readonly #chunkedBodies: ChunkedBodies
  /** Connections that begin again with a request whose chunks are merged. */
  readonly #merged = new WeakSet<Socket>()
  /** The next steps of connections whose response is written, in order of arrival. */
  readonly #ready: (() => void)[] = []
  #isScheduled = false
  /** Node's listeners to `drain` of the connection whose parser was just stopped. */
  #drainListeners: (() => void)[] = []
  /** The request before whose body a parser was just stopped. */
  #stopped: { readonly incoming: IncomingMessage; readonly isChunked: boolean } | undefined
  /** The connection of the latest request of this turn of the event loop. Those of one connection arrive in a row. */
  #latest: Socket | undefined

  constructor(options: PipeliningOptions) {
    this.#options = options
    this.#chunkedBodies = new ChunkedBodies(options.server)
  }

  /**
   * Stops the parser of a connection before each request that arrives while an earlier one has no complete response, or in
   * the same turn of the event loop as an earlier one, and before each chunked body, whose chunks are merged first.
   */
  watch(socket: Socket): void {
    const parsed = socket as Socket & ParsedSocket
    const { parser } = parsed
    const handOver = parser?.onIncoming
    if (typeof handOver !== 'function' || !parser || handOver === this.#receive) return
    // One function for all connections, because a bound one would cost each of them memory while it is idle.
    parsed[handOverKey] = handOver
    parser.onIncoming = this.#receive
  }

  readonly #receive: HandOver = (incoming, keepAlive) => {
    const socket = incoming.socket as Socket & ParsedSocket
    const mustMerge = !this.#merged.delete(socket) && isChunked(incoming)
    if (!mustMerge && currentResponse(socket) === undefined && socket !== this.#latest) {
      if (this.#latest === undefined) setImmediate(this.#endTurn)
      this.#latest = socket
      return socket[handOverKey]?.(incoming, keepAlive) ?? 0
    }
    // Node emits `upgrade` or `connect` with the bytes behind the head, and removes its listeners from the socket.
    this.#drainListeners = socket.listeners('drain') as (() => void)[]
    this.#stopped = { incoming, isChunked: isChunked(incoming) }
    Object.assign(incoming, { upgrade: true })
    return stopParser
  }

  /** True if the parser was stopped before this request. */
  isStopped(incoming: IncomingMessage): boolean {
    return incoming === this.#stopped?.incoming
  }

  /**
   * Keeps a request until the response before it is written, and drops it if its client leaves before.
   *
   * @param rest bytes behind the head of the request
   */
  hold(incoming: IncomingMessage, socket: Socket, rest: Buffer): void {
    const isMerged = this.#stopped?.isChunked === true
    this.#stopped = undefined
    const end = socket.bytesRead - socket.readableLength
    const currentBatch = this.#batches.get(socket)
    const isOfBatch = currentBatch !== undefined && end - rest.length < currentBatch.end
    if (isOfBatch && currentBatch.started >= maxWaitingRequests) {
      this.#restoreDrain(socket)
      dropUnread(socket)
      return
    }
    const batch = isOfBatch ? currentBatch : { end, started: 0 }
    this.#batches.set(socket, batch)
    const chunks = [rest]
    let bytes = rest.length
    const read = (chunk: Buffer): void => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= maxWaitingBytes) socket.pause()
    }
    // Node does the same when a client ends its side of the connection.
    const leave = (): void => {
      socket.end()
    }
    const fail = (): void => {
      socket.destroy()
    }
    socket.on('error', fail).on('end', leave).on('data', read)
    if (bytes >= maxWaitingBytes) socket.pause()
    else socket.resume()
    const head = toHeadBytes(incoming)
    this.afterResponse(socket, () => {
      socket.off('error', fail).off('end', leave).off('data', read)
      batch.started++
      const isLast = batch.started >= maxWaitingRequests && end - rest.length < batch.end
      if (isLast) this.#options.onLastRequest(socket)
      const [first = rest, ...remaining] = chunks
      socket.unshift(remaining.length === 0 ? first : Buffer.concat(chunks))
      socket.unshift(head)
      this.#begin(socket, isMerged ? head.length : undefined)
    })
  }

  /** @param chunkedHead the length of the head of a request whose body is chunked */
  #begin(socket: Socket, chunkedHead: number | undefined): void {
    if (chunkedHead !== undefined) this.#merged.add(socket)
    this.#options.server.emit('connection', socket)
    if (chunkedHead !== undefined) this.#chunkedBodies.follow(socket, chunkedHead)
    socket.resume()
  }

  /** Calls `next` when the current response is written and other connections had a turn. Never, if the connection ends. */
  afterResponse(socket: Socket, next: () => void): void {
    this.#restoreDrain(socket)
    const response = currentResponse(socket)
    const wait = (): void => {
      if (!socket.writable) return
      // Node starts its timer for idle connections when a response is written.
      socket.setTimeout(0)
      this.#ready.push(() => {
        if (socket.writable) next()
      })
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(this.#startNext)
    }
    if (response === undefined) wait()
    else response.once('close', wait)
  }

  readonly #endTurn = (): void => {
    this.#latest = undefined
  }

  /** One per turn of the event loop: other clients wait for one pipelined request at most. */
  readonly #startNext = (): void => {
    this.#ready.shift()?.()
    this.#isScheduled = this.#ready.length > 0
    if (this.#isScheduled) setImmediate(this.#startNext)
  }

  /** The current response still needs the event `drain` of its connection. */
  #restoreDrain(socket: Socket): void {
    const present = socket.listeners('drain')
    const removed = this.#drainListeners.filter((listener) => !present.includes(listener))
    this.#drainListeners = []
    for (const listener of removed) {
      socket.on('drain', listener)
      currentResponse(socket)?.once('close', () => socket.off('drain', listener))
    }
  }
}
