/**
 * Limits the connections of a server, in total and for each peer, disconnects clients that do not read their responses,
 * and handles pipelined requests one at a time. Source: docs/configuration.md, "Bounds".
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { ChunkedBodies, isChunked } from './chunked-bodies.js'
import { toHeadBytes, type UpgradedConnection } from './upgrade.js'
import type { HttpError } from '../errors/http-error.js'
import { AddressCounts, addressKey } from '../core/address-counts.js'
import { connectionRefusal } from './refusals.js'
import { queuedBytes, type UnreadResponses } from './unread-responses.js'

interface ConnectionBounds {
  readonly connections: number
  readonly connectionsByAddress: number
  /** Milliseconds within which a client must read some bytes of its response. */
  readonly stall: number
  /** Maximum requests of one connection. */
  readonly requests: number
}

/** The progress of a connection's waiting bytes. */
interface Progress {
  /** Bytes that were passed to the system. */
  readonly passed: number
  /** Bytes that wait for the system. */
  readonly queued: number
  readonly at: number
}

/** The maximum time between two checks of the connections, in milliseconds. */
const maxCheckInterval = 5_000

export class Connections implements Iterable<Socket> {
  readonly #bounds: ConnectionBounds
  readonly #unreadResponses: UnreadResponses
  readonly #open = new Set<Socket>()
  readonly #byAddress = new AddressCounts()
  readonly #refused = new WeakMap<Socket, () => HttpError>()
  readonly #progress = new WeakMap<Socket, Progress>()
  readonly #upgraded = new WeakMap<Socket, UpgradedConnection>()
  /** Counted here, because Node starts its count again with each parser that reads from a connection. */
  readonly #requests = new WeakMap<Socket, { count: number }>()
  #refuses = false
  /** The total number of connections. */
  arrived = 0
  #timer: NodeJS.Timeout | undefined

  constructor(bounds: ConnectionBounds, unreadResponses: UnreadResponses) {
    this.#bounds = bounds
    this.#unreadResponses = unreadResponses
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): IterableIterator<Socket> {
    return this.#open.values()
  }

  /**
   * Registers a connection. If there are too many, its first request is rejected. A registered connection stays as it
   * is.
   */
  add(socket: Socket): void {
    if (this.#open.has(socket)) return
    const { connections, connectionsByAddress } = this.#bounds
    const key = addressKey(socket.remoteAddress ?? '')
    if (this.#open.size >= connections || this.#byAddress.of(key) >= connectionsByAddress) {
      this.#refuse(socket, connectionRefusal)
    }
    this.arrived++
    this.#open.add(socket)
    this.#requests.set(socket, { count: 0 })
    this.#byAddress.add(key)
    this.#unreadResponses.follow(socket)
    this.#timer ??= this.#watch()
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#byAddress.remove(key)
    })
  }

  /** Registers that the connection uses another protocol from now on. */
  upgraded(socket: Socket, upgraded: UpgradedConnection): void {
    this.#upgraded.set(socket, upgraded)
  }

  /** Makes the next request the last one of this connection. */
  endAfterNext(socket: Socket): void {
    this.#requests.set(socket, { count: Infinity })
  }

  /** Counts a request. @returns true if it is the last one that the connection may send */
  isLast(socket: Socket): boolean {
    const requests = this.#requests.get(socket)
    return requests !== undefined && ++requests.count >= this.#bounds.requests
  }

  /**
   * Whether a request of this connection is in progress, or its upgraded protocol is busy. A request is in progress
   * from the end of its head. An incomplete head, and a connection without any byte, do not count.
   */
  isBusy(socket: Socket): boolean {
    const { _httpMessage: message } = socket as { _httpMessage?: object | null }
    return (
      (message !== undefined && message !== null) || this.#upgraded.get(socket)?.isBusy === true
    )
  }

  /** @returns the error for requests of this connection, usually none */
  refusalFor(socket: Socket): HttpError | undefined {
    return this.#refuses ? this.#refused.get(socket)?.() : undefined
  }

  #refuse(socket: Socket, reason: () => HttpError): void {
    this.#refuses = true
    this.#refused.set(socket, reason)
  }

  /** One shared clock, because a timer for each connection would be reset with every request. */
  #watch(): NodeJS.Timeout {
    const every = Math.max(10, Math.min(maxCheckInterval, this.#bounds.stall / 4))
    const timer = setInterval(() => {
      if (this.#open.size === 0) {
        clearInterval(timer)
        this.#timer = undefined
        return
      }
      for (const socket of this.#open) this.#dropStalled(socket)
    }, every)
    return timer.unref()
  }

  #dropStalled(socket: Socket): void {
    const queued = queuedBytes(socket)
    if (socket.writableLength === 0 && queued === 0) {
      this.#progress.delete(socket)
      return
    }
    const passed = socket.bytesWritten - socket.writableLength
    const before = this.#progress.get(socket)
    const now = performance.now()
    if (before === undefined || before.passed !== passed || before.queued !== queued) {
      this.#progress.set(socket, { passed, queued, at: now })
    } else if (now - before.at >= this.#bounds.stall) {
      socket.destroy()
      this.#unreadResponses.stalled()
    }
  }
}

/** Bytes that are read and dropped. */
const maxDropped = 1024 * 1024

/** Milliseconds for which bytes are read and dropped once everything is sent. */
const dropTime = 1000

/**
 * Prepares the end of a connection whose client may still be sending. Closing a connection with unread bytes resets it,
 * and a reset can cost the client the response. So the bytes are read and dropped, and `destroySoon` waits until the
 * client has stopped sending. Source: RFC 9112 §9.6.
 */
export function dropUnread(socket: Socket): void {
  let dropped = 0
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped >= maxDropped) socket.pause()
  })
  socket.on('error', () => {
    socket.destroy()
  })
  socket.resume()
  socket.destroySoon = () => {
    socket.end()
    if (socket.writableFinished) closeAfterClient(socket)
    else
      socket.once('finish', () => {
        closeAfterClient(socket)
      })
  }
}

function closeAfterClient(socket: Socket): void {
  const destroy = (): void => {
    socket.destroy()
  }
  if (socket.readableEnded) destroy()
  const timer = setTimeout(destroy, dropTime).unref()
  socket.once('end', destroy)
  socket.once('close', () => {
    clearTimeout(timer)
  })
}

/**
 * HTTP/1.1 pipelining, one request of a connection at a time. Node's parser hands over all requests of a chunk one after the
 * other. Here the parser stops before the second one. The bytes from there on wait, unparsed, until the response to the first
 * request is written and other connections had a turn. Source: decisions, Security limits; RFC 9112 §9.3.2.
 */

/** Requests that may wait on a connection. The connection is closed after the responses to them. */
const maxWaitingRequests = 64

/** With more waiting bytes than this, nothing more is read from a connection. */
const maxWaitingBytes = 64 * 1024

/** The result of `onIncoming` that stops Node's parser after a head, as for an upgrade. */
const stopParser = 2

/** The used private properties of Node's sockets. Other runtimes have no `parser`. */
interface ParsedSocket {
  readonly parser?: {
    onIncoming?: ((incoming: IncomingMessage, keepAlive: boolean) => number) | null
  } | null
  readonly _httpMessage?: ServerResponse | null
}

/** @returns the response that this connection will send next, available once the head of its request is complete */
export function currentResponse(socket: object): ServerResponse | undefined {
  return (socket as ParsedSocket)._httpMessage ?? undefined
}

/** Requests that waited together on a connection. */
interface Batch {
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
  readonly #batches = new WeakMap<Socket, Batch>()
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
  /** Counts the turns of the event loop in which requests arrive. */
  #tick = 0
  #isTickCounted = false

  constructor(options: PipeliningOptions) {
    this.#options = options
    this.#chunkedBodies = new ChunkedBodies(options.server)
  }

  /**
   * Stops the parser of a connection before each request that arrives while an earlier one has no complete response, or in
   * the same turn of the event loop as an earlier one, and before each chunked body, whose chunks are merged first.
   */
  watch(socket: Socket): void {
    const { parser } = socket as Socket & ParsedSocket
    const handOver = parser?.onIncoming
    if (typeof handOver !== 'function' || !parser) return
    let latestTick = -1
    parser.onIncoming = (incoming, keepAlive) => {
      const mustMerge = !this.#merged.delete(socket) && isChunked(incoming)
      if (!mustMerge && currentResponse(socket) === undefined && latestTick !== this.#tick) {
        latestTick = this.#tick
        if (!this.#isTickCounted) this.#countTick()
        return handOver(incoming, keepAlive)
      }
      // Node emits `upgrade` or `connect` with the bytes behind the head, and removes its listeners from the socket.
      this.#drainListeners = socket.listeners('drain') as (() => void)[]
      this.#stopped = { incoming, isChunked: isChunked(incoming) }
      Object.assign(incoming, { upgrade: true })
      return stopParser
    }
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

  #countTick(): void {
    this.#isTickCounted = true
    setImmediate(this.#endTick)
  }

  readonly #endTick = (): void => {
    this.#tick++
    this.#isTickCounted = false
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
