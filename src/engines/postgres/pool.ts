/**
 * A pool of connections, which are opened when needed, reused, and lent to one caller at a time. Waiting callers get
 * the first free one. pg's own pool would cost a timer and promises for each statement. Source: node-postgres, Pool.
 */

import { LinkedList, unlisted, type ListItem } from '../../core/collections.js'
import { Call, type CallOwner, becomeQueries } from './call.js'
import { PooledConnection } from './pooled-connection.js'
import type { PoolState, Row } from '../contract/engine.js'
import { frameworkChange } from '../contract/statement.js'
import { createColumnReader, type ColumnReader } from './wire-protocol.js'
import type { Driver } from './driver.js'
import { openClient } from './open-client.js'
import { urlsOf, type PostgresOptions } from './options.js'
import type { PreparedStatements } from './prepared-statements.js'

/** A waiting caller. */
export interface Waiter {
  take(connection: PooledConnection): void
  fail(error: unknown): void
}

/** A waiting call. Calls of the same turn of the event loop are sent together. */
class PoolCall implements Waiter {
  readonly call: Call
  readonly tick: number
  readonly #returnConnection: (connection: PooledConnection) => void

  constructor(call: Call, returnConnection: (connection: PooledConnection) => void) {
    this.call = call
    this.tick = currentTick()
    this.#returnConnection = returnConnection
  }

  take(connection: PooledConnection): void {
    connection.onIdle = this.#returnConnection
    connection.send(this.call)
  }

  fail(error: unknown): void {
    this.call.failUnsent(error)
  }
}

/** A waiter with its times of `performance.now`. */
interface Wait extends ListItem<Wait> {
  readonly waiter: Waiter
  readonly since: number
  readonly end: number
}

let tick = 0
let isScheduled = false

/** The number of the current turn of the event loop. Calls of one turn mostly belong to one request. */
export function currentTick(): number {
  if (!isScheduled) {
    isScheduled = true
    process.nextTick(() => {
      isScheduled = false
      tick++
    })
  }
  return tick
}

/** The maximum number of waiting statements that are sent together, because there are other connections. */
const maxBatch = 8

/** The default time, in milliseconds, to wait while connections come and go; the same as for handlers. */
const defaultMaxWait = 30_000
/** Milliseconds after which an idle connection is closed, and between two searches for such connections. */
const [idleTime, sweepTime] = [30_000, 10_000]

export class ConnectionPool implements CallOwner {
  readonly maxConnections: number
  readonly #driver: Driver
  readonly #options: PostgresOptions
  readonly #names: PreparedStatements
  readonly #readColumns: ColumnReader
  readonly #connectTimeout: number
  readonly #all = new Set<PooledConnection>()
  readonly #idle: PooledConnection[] = []
  readonly #queue = new LinkedList<Wait>()
  /** Callers with priority over all other waiting callers. */
  readonly #priorityQueue = new LinkedList<Wait>()
  /** The time of the last return of a connection. */
  #lastReleaseAt = 0
  readonly #returnConnection = (connection: PooledConnection): void => {
    this.release(connection)
  }
  /** The time of the last loss of a connection with running statements. */
  #lastLossAt = 0
  #opening = 0
  /** Resolves when the next connection is open. Undefined while nobody waits for it. */
  #nextOpened: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined
  #timeoutTimer: NodeJS.Timeout | undefined
  readonly #sweepTimer: NodeJS.Timeout
  #closed: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  constructor(driver: Driver, options: PostgresOptions, names: PreparedStatements) {
    becomeQueries(driver)
    this.maxConnections = options.connections ?? 10
    this.#connectTimeout = options.connectTimeout ?? 5000
    this.#driver = driver
    this.#options = options
    this.#names = names
    this.#readColumns = createColumnReader(driver)
    this.#sweepTimer = setInterval(() => {
      this.#sweep()
    }, sweepTime).unref()
  }

  /** The number of connections, their limit, and the number of waiting callers. */
  get state(): PoolState {
    const open = this.#all.size + this.#opening
    return {
      maxConnections: this.maxConnections,
      open,
      idle: this.#idle.length,
      waiting: this.waiting,
    }
  }

  /** The number of waiting callers. */
  get waiting(): number {
    return this.#queue.size + this.#priorityQueue.size
  }

  /** Returns a free connection, unless other callers are waiting. */
  take(): PooledConnection | undefined {
    return this.waiting > 0 ? undefined : this.#idle.pop()
  }

  /**
   * Calls the waiter once, with a connection or an error, immediately if a connection is free.
   *
   * @param maxWait milliseconds to wait while other connections come and go
   * @param queue the queue for waiting
   */
  wait(waiter: Waiter, maxWait = defaultMaxWait, queue = this.#queue): void {
    if (this.#closed !== undefined) {
      waiter.fail(closedError())
      return
    }
    const free = this.take()
    if (free !== undefined) {
      waiter.take(free)
      return
    }
    const since = performance.now()
    queue.add({ waiter, since, end: since + maxWait, ...unlisted })
    this.#timeoutTimer ??= setInterval(() => {
      this.#failTimedOutWaiters()
    }, this.#connectTimeout / 5).unref()
    this.#openMore()
  }

  /** Removes a waiter. */
  cancelWait(waiter: Waiter): void {
    const wait = this.#queue.toArray().find((one) => one.waiter === waiter)
    if (wait !== undefined) this.#queue.delete(wait)
  }

  /**
   * As `wait`, with priority over all other waiters, for brief reads of all requests. They wait at most for a running
   * statement. With a single connection, they alternate with other callers.
   */
  waitWithPriority(waiter: Waiter): void {
    this.wait(waiter, defaultMaxWait, this.maxConnections === 1 ? this.#queue : this.#priorityQueue)
  }

  /** @param maxWait as for `wait` */
  acquire(maxWait?: number): Promise<PooledConnection> {
    return new Promise((take, fail) => {
      this.wait({ take, fail }, maxWait)
    })
  }

  /** Returns a connection. Its statements must be finished, unless it is broken. */
  release(connection: PooledConnection): void {
    connection.onIdle = undefined
    const isSuspect = connection.openedAt < this.#lastLossAt
    if (connection.isBroken || isSuspect || this.#closed !== undefined) {
      this.#drop(connection)
      return
    }
    this.#lastReleaseAt = performance.now()
    const waiter = this.#takeWaiter()
    if (waiter instanceof PoolCall) {
      this.#sendTogether(connection, waiter)
      return
    }
    if (waiter !== undefined) {
      waiter.take(connection)
      return
    }
    connection.idleSince = this.#lastReleaseAt
    this.#idle.push(connection)
  }

  /** Runs a call on a free connection. If it must wait, it is sent together with other calls of its turn. */
  run(call: Call): void {
    const free = this.take()
    if (free === undefined) {
      this.wait(new PoolCall(call, this.#returnConnection))
      return
    }
    free.onIdle = this.#returnConnection
    free.send(call)
  }

  /** Runs one statement separately. */
  query(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const call = new Call(frameworkChange('unknown', sql), values, 'rows', this, false)
    const result = call.result<readonly Row[]>()
    this.run(call)
    return result
  }

  /** The error of a `query` goes to its caller. */
  failed(call: Call, error: unknown): void {
    call.reject(error)
  }

  /** Resolves when the next connection is open: after an outage, the server is back. */
  nextOpened(): Promise<void> {
    if (this.#nextOpened === undefined) {
      let resolve: () => void = () => undefined
      const promise = new Promise<void>((resolved) => (resolve = resolved))
      this.#nextOpened = { promise, resolve }
    }
    return this.#nextOpened.promise
  }

  /** Closes the pool; callers with a connection can finish. */
  end(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed.promise
    let resolve: () => void = () => undefined
    const promise = new Promise<void>((resolved) => (resolve = resolved))
    this.#closed = { promise, resolve }
    clearInterval(this.#sweepTimer)
    for (const connection of this.#idle.splice(0)) this.#drop(connection)
    this.#finishClosing()
    return promise
  }

  #sendTogether(connection: PooledConnection, { call, tick }: PoolCall): void {
    connection.onIdle = this.#returnConnection
    const calls = [call]
    let last = call
    while (!last.statement.mayWait && calls.length < maxBatch) {
      const waiter = this.#queue.first?.waiter
      if (!(waiter instanceof PoolCall) || waiter.tick !== tick) break
      this.#queue.shift()
      last = waiter.call
      calls.push(last)
    }
    connection.sendAll(calls)
  }

  #openMore(): void {
    const missing = Math.min(this.waiting, this.maxConnections - this.#all.size)
    while (this.#opening < missing && this.#closed === undefined) void this.#open()
  }

  async #open(): Promise<void> {
    this.#opening++
    let opened: PooledConnection | undefined
    try {
      opened = await this.#connect()
    } catch (error) {
      this.#takeWaiter()?.fail(error)
    }
    this.#opening--
    if (opened !== undefined) {
      this.#nextOpened?.resolve()
      this.#nextOpened = undefined
      this.#all.add(opened)
      this.release(opened)
    }
    this.#openMore()
    this.#finishClosing()
  }

  async #connect(): Promise<PooledConnection> {
    const options = this.#options
    const settings = clientSettings(options)
    const client = await openClient(this.#driver, options, urlsOf(options), settings)
    const connection = new PooledConnection({
      client,
      driver: this.#driver,
      names: this.#names,
      readColumns: this.#readColumns,
      onLost: () => {
        this.#dropIdle()
      },
    })
    client.on('error', (error) => {
      this.#lose(connection, error)
    })
    client.on('end', () => {
      this.#lose(connection, undefined)
    })
    return connection
  }

  /** The driver reports the loss to its statements. */
  #lose(connection: PooledConnection, error: Error | undefined): void {
    const isLost = !connection.isBroken && connection.calls.size > 0
    connection.isBroken = true
    if (isLost) this.#dropIdle()
    const index = this.#idle.indexOf(connection)
    if (index >= 0) {
      this.#idle.splice(index, 1)
      this.#options.log.warn({ err: error }, 'a connection to the database was lost')
      this.#drop(connection)
    }
  }

  /**
   * If one connection is lost, the server has usually closed all of them. Retried statements then get a new connection.
   */
  #dropIdle(): void {
    this.#lastLossAt = performance.now()
    for (const connection of this.#idle.splice(0)) this.#drop(connection)
  }

  #drop(connection: PooledConnection): void {
    if (!this.#all.delete(connection)) return
    const { client, calls } = connection
    // The results of running statements are not needed. A server that waits for a lock does not notice that its client
    // has disconnected.
    if (calls.size > 0) {
      connection.cancel()
      client.connection.stream.destroy()
    }
    client.end().catch(() => undefined)
    this.#openMore()
    this.#finishClosing()
  }

  /** Ends the closing when the last connection is gone. Nobody else would fail the callers that still wait for one. */
  #finishClosing(): void {
    if (this.#closed === undefined || this.#all.size > 0 || this.#opening > 0) return
    for (let waiter = this.#takeWaiter(); waiter !== undefined; waiter = this.#takeWaiter())
      waiter.fail(closedError())
    this.#closed.resolve()
  }

  /** Removes the waiter whose turn it is. */
  #takeWaiter(): Waiter | undefined {
    return (this.#priorityQueue.shift() ?? this.#queue.shift())?.waiter
  }

  /**
   * Fails callers that have waited as long as the connection timeout, unless other callers have got a connection, which
   * shows that the database responds.
   */
  #failTimedOutWaiters(): void {
    if (this.waiting === 0) {
      clearInterval(this.#timeoutTimer)
      this.#timeoutTimer = undefined
    }
    const now = performance.now()
    const isStuck = now - this.#lastReleaseAt >= this.#connectTimeout
    for (const queue of [this.#priorityQueue, this.#queue])
      for (const wait of queue.toArray()) {
        const { waiter, since, end, isListed } = wait
        if (!isListed || now - since < this.#connectTimeout || !(isStuck || now >= end)) continue
        queue.delete(wait)
        waiter.fail(new Error('timeout exceeded when trying to connect'))
      }
  }

  #sweep(): void {
    const until = performance.now() - idleTime
    // The first connection has been idle longest.
    while (this.#idle.length > 0) {
      const [oldest] = this.#idle
      if (oldest === undefined || oldest.idleSince > until) return
      this.#idle.shift()
      this.#drop(oldest)
    }
  }
}

function closedError(): Error {
  return new Error('A connection was requested after calling end on the pool.')
}

function clientSettings(options: PostgresOptions): object {
  const { connectTimeout = 5000, statementTimeout = 30_000, lockTimeout = 10_000 } = options
  return {
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    pipeline: true,
    application_name: 'filigree',
    ...(statementTimeout > 0 ? { statement_timeout: statementTimeout } : {}),
    ...(lockTimeout > 0 ? { lock_timeout: lockTimeout } : {}),
  }
}
