/**
 * The writes of one client's request outside transactions. When the request's time is over, no further write is sent,
 * and a running one is cancelled on the server. The response shows whether the cancel request came too late. Source:
 * PostgreSQL, Frontend/Backend Protocol, Canceling Requests in Progress.
 */

import { requestTimeoutError } from '../client-writes.js'
import type {
  Results,
  Statement,
  Values,
  ResultKind,
  Runner,
  ClientWriting,
  PendingWrite,
} from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import { Call, type CallOwner } from './call.js'
import { convertPostgresError } from './errors.js'
import type { ConnectionPool, Waiter } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { isWrite } from '../contract/statement.js'

/**
 * Runs statements in order on a connection of their own, sent without waiting. Source: PostgreSQL, Extended Query,
 * Pipelining.
 */
export class OrderedStatements implements Runner, CallOwner, PendingWrite {
  readonly #pool: ConnectionPool
  readonly #connection: PooledConnection
  readonly #writing: ClientWriting | undefined
  #isDone = false

  /**
   * @param connection acquired from the pool, and released at the end
   *
   * @param writing the client's request; nothing more is sent when its time is over
   */
  constructor(pool: ConnectionPool, connection: PooledConnection, writing?: ClientWriting) {
    this.#pool = pool
    this.#connection = connection
    this.#writing = writing
    writing?.writeStarted(this)
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    const connection = this.#connection
    if (this.#writing?.isTimedOut === true) return Promise.reject(requestTimeoutError())
    const isPrepared = resultKind !== 'all' && !connection.names.isPooled
    const call = new Call(statement, values, resultKind, this, isPrepared)
    const result = call.result<Results[W]>()
    connection.sendBuffered(call)
    return result
  }

  /** Releases the connection when the last statement has ended. */
  end(): void {
    const connection = this.#connection
    if (connection.calls.size === 0) this.#release(connection)
    else connection.onIdle = this.#release
  }

  /**
   * Cancels the running statement, then each one behind it. Statements that ended before the cancel request arrived are
   * reported.
   */
  stop(): void {
    this.#connection.cancel()
  }

  settled(isDone: boolean): void {
    if (isDone && this.#writing?.isTimedOut === true) this.#isDone = true
  }

  readonly #release = (connection: PooledConnection): void => {
    this.#pool.release(connection)
    // The result of the last statement is handled in this turn of the event loop.
    setImmediate(() => this.#writing?.writeEnded(this, this.#isDone))
  }

  /** A failed statement is not retried, because it would run after later ones. */
  failed(call: Call, error: unknown): void {
    const converted = convertPostgresError(error)
    const isStale = this.#connection.names.recordStaleness(call.statement.sql, error)
    call.reject(
      isStale ? new EngineError('unavailable', (error as Error).message, converted) : converted,
    )
  }
}

/** The parts of the engine that a request's writes use. */
export interface WriteParts {
  readonly engine: Runner
  readonly pool: ConnectionPool
  /** Retries a failed call with `run`, or rejects it. */
  readonly fail: (call: Call, error: unknown, run: (call: Call) => void) => void
}

export class CancellableWrites implements Runner {
  readonly #writing: ClientWriting
  readonly #parts: WriteParts

  constructor(writing: ClientWriting, parts: WriteParts) {
    this.#writing = writing
    this.#parts = parts
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    const writing = this.#writing
    if (!isWrite(statement)) return this.#parts.engine.run(statement, values, resultKind)
    if (writing.isTimedOut) return Promise.reject(requestTimeoutError())
    const write = new CancellableWrite(writing, this.#parts)
    const call = new Call(statement, values, resultKind, write)
    const result = call.result<Results[W]>()
    writing.writeStarted(write)
    write.send(call)
    return result
  }
}

/** One write. No other statement is on its connection in the meantime. */
class CancellableWrite implements CallOwner, Waiter, PendingWrite {
  readonly #writing: ClientWriting
  readonly #parts: WriteParts
  #call: Call | undefined
  #connection: PooledConnection | undefined
  #isStopped = false

  constructor(writing: ClientWriting, parts: WriteParts) {
    this.#writing = writing
    this.#parts = parts
  }

  /** Arrow functions, because they are passed as callbacks. */
  readonly send = (call: Call): void => {
    this.#call = call
    if (this.#isStopped) call.reject(requestTimeoutError())
    else this.#parts.pool.wait(this)
  }

  take(connection: PooledConnection): void {
    this.#connection = connection
    connection.onIdle = this.#onIdle
    connection.send(this.#call as Call)
  }

  fail(error: unknown): void {
    this.#call?.failUnsent(error)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#connection !== undefined) this.#connection.cancel()
    else {
      this.#parts.pool.cancelWait(this)
      this.#call?.reject(requestTimeoutError())
    }
  }

  settled(isDone: boolean): void {
    this.#writing.writeEnded(this, isDone)
  }

  failed(call: Call, error: unknown): void {
    // Not retried, because the error of a cancelled statement looks like other errors.
    if (this.#isStopped && !call.isOutcomeUnknown(error)) call.reject(convertPostgresError(error))
    else this.#parts.fail(call, error, this.send)
  }

  readonly #onIdle = (connection: PooledConnection): void => {
    this.#connection = undefined
    this.#parts.pool.release(connection)
  }
}
