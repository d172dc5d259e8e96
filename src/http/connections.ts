/**
 * Limits the connections of a server, in total and for each peer, and drops clients that do not read their answer.
 * Source: docs/configuration.md, "Bounds".
 */
import type { Socket } from 'node:net'
import type { HttpError } from '../errors/http-error.js'
import { AddressCounts, addressKey } from '../core/address-counts.js'
import { connectionRefusal } from './refusals.js'
import { queuedBytes, type UnreadResponses } from './unread-responses.js'
import type { Upgraded } from './upgrade.js'

export interface ConnectionBounds {
  readonly connections: number
  readonly connectionsByAddress: number
  /** Milliseconds within which a client has to read something of its answer. */
  readonly stall: number
  /** Of one connection. */
  readonly requests: number
}

/** How much of its waiting bytes a connection has sent. */
interface Progress {
  /** Bytes that the connection was given and has passed on. */
  readonly passed: number
  /** Bytes that the system has not taken yet. */
  readonly queued: number
  readonly at: number
}

/** The longest time between two looks at the connections, in milliseconds. */
const maxCheckInterval = 5_000

export class Connections implements Iterable<Socket> {
  readonly #bounds: ConnectionBounds
  readonly #answers: UnreadResponses
  readonly #open = new Set<Socket>()
  readonly #byAddress = new AddressCounts()
  readonly #refused = new WeakMap<Socket, () => HttpError>()
  readonly #progress = new WeakMap<Socket, Progress>()
  readonly #upgraded = new WeakMap<Socket, Upgraded>()
  /** Node's own count begins anew with each parser that reads from a connection. */
  readonly #requests = new WeakMap<Socket, { count: number }>()
  #refuses = false
  /** How many there have been. */
  arrived = 0
  #timer: NodeJS.Timeout | undefined

  constructor(bounds: ConnectionBounds, answers: UnreadResponses) {
    this.#bounds = bounds
    this.#answers = answers
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): IterableIterator<Socket> {
    return this.#open.values()
  }

  /** Registers a connection; one too many is refused with its first request. One that is known stays as it is. */
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
    this.#answers.follow(socket)
    this.#timer ??= this.#watch()
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#byAddress.remove(key)
    })
  }

  /** From now on it speaks another protocol. */
  upgraded(socket: Socket, upgraded: Upgraded): void {
    this.#upgraded.set(socket, upgraded)
  }

  /** Lets the next request be the last of this connection. */
  endAfterNext(socket: Socket): void {
    this.#requests.set(socket, { count: Infinity })
  }

  /** Counts a request. @returns true where it is the last that this connection may ask */
  isLast(socket: Socket): boolean {
    const requests = this.#requests.get(socket)
    return requests !== undefined && ++requests.count >= this.#bounds.requests
  }

  /**
   * True while a request of this connection is being answered, or what it speaks instead is at work. Node has the answer at
   * hand from the end of the head on; a head that is not finished yet, and a connection that never sent a byte, count for
   * nothing.
   */
  isBusy(socket: Socket): boolean {
    const { _httpMessage: message } = socket as { _httpMessage?: object | null }
    return (
      (message !== undefined && message !== null) || this.#upgraded.get(socket)?.isBusy === true
    )
  }

  /** @returns what requests of this connection are answered with; nearly always nothing */
  refusalFor(socket: Socket): HttpError | undefined {
    return this.#refuses ? this.#refused.get(socket)?.() : undefined
  }

  #refuse(socket: Socket, reason: () => HttpError): void {
    this.#refuses = true
    this.#refused.set(socket, reason)
  }

  /** One clock for all: a timer for each connection would be set anew with every request. */
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
      this.#answers.stalled()
    }
  }
}
