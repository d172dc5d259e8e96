/**
 * A connection of the pool with its running statements. The server runs pipelined statements in order, and each fails
 * separately. Source: PostgreSQL, Extended Query, Pipelining.
 */
import { LinkedList, type ListItem } from '../../core/collections.js'
import type { Statement } from '../contract/statement.js'
import type { ColumnReader } from './wire-protocol.js'
import {
  cancelStatement,
  type Client,
  type Driver,
  type ParameterDescription,
  type Submittable,
} from './driver.js'
import { endsConnection, isReadOnlyServer } from './errors.js'
import { maxNames, type Preparation, type PreparedStatements } from './prepared-statements.js'

/** A statement that a connection runs. */
export interface PooledCall extends Submittable, ListItem<PooledCall> {
  readonly statement: Statement
  /** Called before it is passed to the connection's client. */
  started(connection: PooledConnection): void
  handleParameterDescription(message: ParameterDescription): void
  /** Its commit did not wait for the synchronous replica, so a failover may lose it. */
  handleUnreplicatedCommit(): void
  /** It conflicts with another one on another server, whose error it will get without the code. */
  handleConflictElsewhere(): void
  /** It takes so long that no other call may use the connection. */
  becomeExclusive(connection: PooledConnection): void
  /** Runs the statement again elsewhere. */
  reroute(): void
}

export interface ConnectionParts {
  readonly client: Client
  readonly driver: Driver
  readonly names: PreparedStatements
  readonly readColumns: ColumnReader
  /** Called when statements were lost with the connection. */
  readonly onLost: () => void
}

/**
 * So many statements are sent without waiting for the end of the turn of the event loop, so that the server already
 * works on them.
 */
const maxBufferedStatements = 8
/** Milliseconds between two attempts to cancel a running statement. */
const cancelInterval = 250
/**
 * The function of the server that waits for a synchronous replica. If the wait is cancelled, the server reports success with
 * a warning, although the commit is only on this server. Source: PostgreSQL, syncrep.c.
 */
const waitForReplica = 'SyncRepWaitForLSN'
/**
 * Milliseconds after which a connection whose server has become a replica is opened again. A younger one leads to a server
 * that was one before.
 */
const reopenAfter = 1000

export class PooledConnection {
  readonly client: Client
  readonly names: PreparedStatements
  readonly readColumns: ColumnReader
  readonly toText: Driver['utils']['prepareValue']
  readonly prepared = new Map<string, Preparation>()
  /** The running statements, in order. */
  readonly calls = new LinkedList<PooledCall>()
  /** The connection can no longer be used. */
  isBroken = false
  /** Called when no statement is running any more. */
  onIdle: ((connection: PooledConnection) => void) | undefined = undefined
  /** Milliseconds of `performance.now`. */
  readonly openedAt = performance.now()
  idleSince = 0
  /** The first running statement at the last check. */
  lastSeenFirst: PooledCall | undefined = undefined
  readonly #driver: Driver
  readonly #onLost: () => void
  #bufferedCount = 0
  /** A call that is sending rows to the server, which accepts nothing else. Later statements are sent after it. */
  #copying: PooledCall | undefined
  readonly #afterCopy: PooledCall[] = []
  #isCancelled = false
  #cancelTimer: NodeJS.Timeout | undefined

  constructor({ client, driver, names, readColumns, onLost }: ConnectionParts) {
    this.client = client
    this.names = names
    this.readColumns = readColumns
    this.toText = driver.utils.prepareValue
    this.#driver = driver
    this.#onLost = onLost
    client.connection.on('parameterDescription', (message) => {
      this.calls.first?.handleParameterDescription(message)
    })
    client.on('notice', ({ code, routine }) => {
      if (routine === waitForReplica) this.calls.first?.handleUnreplicatedCommit()
      if (code === '40001') this.calls.first?.handleConflictElsewhere()
    })
  }

  /**
   * Forgets statements whose names were dropped, if there are more than the limit. Behind a pooler they may belong to
   * another process.
   *
   * @returns their names, which the caller closes
   */
  forgetDroppedNames(): string[] {
    const { prepared, names } = this
    if (prepared.size <= maxNames || names.isPooled) return []
    const dropped: string[] = []
    for (const [name, state] of prepared)
      if (state !== 'begun' && !names.isCurrent(name)) dropped.push(name)
    for (const name of dropped) prepared.delete(name)
    return dropped
  }

  /**
   * Sends a call immediately. If other calls are running, it is sent with all other calls of this turn of the event
   * loop.
   */
  send(call: PooledCall): void {
    if (this.calls.size > 0) this.#buffer()
    this.#send(call)
  }

  /** Sends a call with all other calls of this turn of the event loop. */
  sendBuffered(call: PooledCall): void {
    this.#buffer()
    this.#send(call)
  }

  /** Sends calls immediately, in one buffer. */
  sendAll(calls: readonly PooledCall[]): void {
    const { stream } = this.client.connection
    stream.cork()
    for (const call of calls) this.#send(call)
    stream.uncork()
  }

  /** Called when a call has ended. */
  callEnded(call: PooledCall): void {
    this.calls.delete(call)
    if (this.#copying === call) this.copyEnded()
    if (this.calls.size === 0) this.onIdle?.(this)
    else if (this.#isCancelled) this.#cancel()
  }

  /** Called when the server has received all rows, or has rejected them. */
  copyEnded(): void {
    this.#copying = undefined
    // Another COPY delays the calls after it again.
    for (const call of this.#afterCopy.splice(0)) this.#send(call)
  }

  /**
   * Cancels running statements on the server. The request may arrive late, so the connection is not used by other
   * callers afterwards.
   */
  cancel(): void {
    this.isBroken = true
    this.#isCancelled = true
    this.#cancel()
  }

  /** Repeats the request while statements run, because a request that arrives between two statements has no effect. */
  #cancel(): void {
    clearTimeout(this.#cancelTimer)
    if (this.calls.size === 0) return
    cancelStatement(this.client, this.#driver.Connection)
    this.#cancelTimer = setTimeout(() => {
      this.#cancel()
    }, cancelInterval).unref()
  }

  checkError(error: unknown): void {
    if (this.isBroken || !(endsConnection(error) || this.#leadsToReplica(error))) return
    this.isBroken = true
    this.#onLost()
  }

  /** After a failover, only a new connection reaches the server that accepts writes. */
  #leadsToReplica(error: unknown): boolean {
    const { code, routine } = (error ?? {}) as Partial<Record<string, unknown>>
    return isReadOnlyServer(code, routine) && performance.now() - this.openedAt > reopenAfter
  }

  #send(call: PooledCall): void {
    this.calls.add(call)
    if (this.#copying !== undefined) {
      this.#afterCopy.push(call)
      return
    }
    if (call.statement.takesRows === true) this.#copying = call
    call.started(this)
    this.client.query(call)
  }

  /** Writing to the socket for each statement would be the largest part of its cost. */
  #buffer(): void {
    const { stream } = this.client.connection
    if (this.#bufferedCount === 0) {
      stream.cork()
      setImmediate(() => {
        if (this.#bufferedCount > 0) this.#flush()
      })
    } else if (this.#bufferedCount >= maxBufferedStatements) {
      this.#flush()
      stream.cork()
    }
    this.#bufferedCount++
  }

  #flush(): void {
    this.#bufferedCount = 0
    this.client.connection.stream.uncork()
  }
}
