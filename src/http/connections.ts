/**
 * Limits the connections of a server, in total and for each peer, and disconnects clients that do not read their
 * responses. Source: docs/configuration.md, "Bounds".
 */

import type { Socket } from 'node:net'
import type { UpgradedConnection } from './upgrade.js'
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
interface SendProgress {
  /** Bytes that were passed to the system. */
  readonly passed: number
  /** Bytes that wait for the system. */
  readonly queued: number
  /** When either number last changed, by the monotonic clock. */
  readonly changedAt: number
}

/** What is counted of an open connection. An idle one holds no more than this. */
interface OpenConnection {
  /** The key of its address. */
  readonly address: string
  /** Counted here, because Node starts its count again with each parser that reads from a connection. */
  requests: number
}

/** The maximum time between two checks of the connections, in milliseconds. */
const maxCheckInterval = 5_000

export class Connections implements Iterable<Socket> {
  readonly #bounds: ConnectionBounds
  readonly #unreadResponses: UnreadResponses
  readonly #open = new Map<Socket, OpenConnection>()
  readonly #byAddress = new AddressCounts()
  readonly #refused = new WeakSet<Socket>()
  /** Spares most requests the look-up in `#refused`. */
  #hasRefused = false
  readonly #progress = new WeakMap<Socket, SendProgress>()
  readonly #upgraded = new WeakMap<Socket, UpgradedConnection>()
  /** Called with the connection as `this`: a function for all of them. */
  readonly #leave: (this: Socket) => void
  /** The number of connections since the start. */
  totalCount = 0
  #timer: NodeJS.Timeout | undefined

  constructor(bounds: ConnectionBounds, unreadResponses: UnreadResponses) {
    this.#bounds = bounds
    this.#unreadResponses = unreadResponses
    const remove = (socket: Socket): void => {
      this.#remove(socket)
    }
    this.#leave = function () {
      remove(this)
    }
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): IterableIterator<Socket> {
    return this.#open.keys()
  }

  /**
   * Registers a connection, unless it is registered. If there are too many, its requests are rejected.
   */
  add(socket: Socket): void {
    if (this.#open.has(socket)) return
    const { connections, connectionsByAddress } = this.#bounds
    const address = addressKey(socket.remoteAddress ?? '')
    if (this.#open.size >= connections || this.#byAddress.of(address) >= connectionsByAddress) {
      this.#refused.add(socket)
      this.#hasRefused = true
    }
    this.totalCount++
    this.#open.set(socket, { address, requests: 0 })
    this.#byAddress.add(address)
    this.#unreadResponses.follow(socket)
    this.#timer ??= this.#startChecks()
    socket.on('close', this.#leave)
  }

  #remove(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    this.#open.delete(socket)
    this.#byAddress.remove(connection.address)
  }

  /** Registers that the connection uses another protocol from now on. */
  setUpgraded(socket: Socket, connection: UpgradedConnection): void {
    this.#upgraded.set(socket, connection)
  }

  /** Makes the next request the last one of this connection. */
  endAfterNext(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection !== undefined) connection.requests = Infinity
  }

  /** @returns true if it is the last request that the connection may send */
  countRequest(socket: Socket): boolean {
    const connection = this.#open.get(socket)
    return connection !== undefined && ++connection.requests >= this.#bounds.requests
  }

  /**
   * Whether a request of this connection is in progress, or its upgraded protocol is busy. A request is in progress
   * from the end of its head. An incomplete head, and a connection without any byte, do not count.
   */
  isBusy(socket: Socket): boolean {
    // Node's field for the response that the connection sends next.
    const { _httpMessage: response } = socket as { _httpMessage?: object | null }
    return (
      (response !== undefined && response !== null) || this.#upgraded.get(socket)?.isBusy === true
    )
  }

  /** @returns the error for requests of this connection, usually none */
  refusalFor(socket: Socket): HttpError | undefined {
    return this.#hasRefused && this.#refused.has(socket) ? connectionRefusal() : undefined
  }

  /** One shared timer, because a timer for each connection would be reset with every request. */
  #startChecks(): NodeJS.Timeout {
    const every = Math.max(10, Math.min(maxCheckInterval, this.#bounds.stall / 4))
    const timer = setInterval(() => {
      if (this.#open.size === 0) {
        clearInterval(timer)
        this.#timer = undefined
        return
      }
      for (const socket of this.#open.keys()) this.#dropStalled(socket)
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
      this.#progress.set(socket, { passed, queued, changedAt: now })
    } else if (now - before.changedAt >= this.#bounds.stall) {
      socket.destroy()
      this.#unreadResponses.countStalled()
    }
  }
}
