/**
 * The changes of one client's request outside transactions. Once its time is over none is sent any more, and one that is on
 * its way is cancelled on the server: whether that came too late is known by its answer.
 * Source: PostgreSQL, Frontend/Backend Protocol, Canceling Requests in Progress.
 */

import { lateFault } from '../client-writes.js'
import type {
  Answers,
  Statement,
  Values,
  Wanted,
  OrderedRunner,
  Runner,
} from '../contract/engine.js'
import { EngineFault } from '../contract/engine-error.js'
import type { ClientWriting, UnderWay } from '../contract/request-context.js'
import { Call, type CallOwner } from './call.js'
import { toPostgresFault } from './errors.js'
import type { ConnectionPool, Waiter } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { changes } from '../contract/statement.js'

/**
 * Runs statements in order on a connection of their own, sent without waiting. Source: PostgreSQL, Extended Query,
 * Pipelining.
 */

export class OrderedStatements implements OrderedRunner, CallOwner, UnderWay {
  readonly #pool: ConnectionPool
  readonly #connection: PooledConnection
  readonly #writing: ClientWriting | undefined
  #isDone = false

  /**
   * @param connection borrowed from the pool, and returned at the end
   * @param writing the client's request, for which nothing more is done once its time is over
   */
  constructor(pool: ConnectionPool, connection: PooledConnection, writing?: ClientWriting) {
    this.#pool = pool
    this.#connection = connection
    this.#writing = writing
    writing?.begun(this)
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Promise<Answers[W]> {
    const connection = this.#connection
    if (this.#writing?.late === true) return Promise.reject(lateFault())
    const isKept = wanted !== 'all' && !connection.names.isPooled
    const call = new Call(statement, values, wanted, this, isKept)
    const answer = call.answer<Answers[W]>()
    connection.sendLater(call)
    return answer
  }

  end(): void {
    const connection = this.#connection
    if (connection.calls.size === 0) this.#letGo(connection)
    else connection.onIdle = this.#letGo
  }

  /** Those behind the one that runs are cancelled in turn; of what was done before that reached it, all is told. */
  stop(): void {
    this.#connection.cancel()
  }

  settled(isDone: boolean): void {
    if (isDone && this.#writing?.late === true) this.#isDone = true
  }

  readonly #letGo = (connection: PooledConnection): void => {
    this.#pool.release(connection)
    // What was done last is known in this turn of the loop.
    setImmediate(() => this.#writing?.ended(this, this.#isDone))
  }

  /** A failed statement is not run again, because it would then come after later ones. */
  failed(call: Call, error: unknown): void {
    const fault = toPostgresFault(error)
    const isStale = this.#connection.names.heed(call.statement.sql, error)
    call.refuse(isStale ? new EngineFault('unavailable', (error as Error).message, fault) : fault)
  }
}

/** The parts of the engine that a request's changes use. */
export interface WriteParts {
  readonly engine: Runner
  readonly pool: ConnectionPool
  /** Decides whether a failed call runs again by `run`, else refuses it. */
  readonly fail: (call: Call, error: unknown, run: (call: Call) => void) => void
}

export class ClientWrites implements Runner {
  readonly #writing: ClientWriting
  readonly #parts: WriteParts

  constructor(writing: ClientWriting, parts: WriteParts) {
    this.#writing = writing
    this.#parts = parts
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): MaybePromise<Answers[W]> {
    const writing = this.#writing
    if (!changes(statement)) return this.#parts.engine.run(statement, values, wanted)
    if (writing.late) return Promise.reject(lateFault())
    const write = new ClientWrite(writing, this.#parts)
    const call = new Call(statement, values, wanted, write)
    const answer = call.answer<Answers[W]>()
    writing.begun(write)
    write.send(call)
    return answer
  }
}

/** One change: nobody else's statement is on its connection meanwhile. */
class ClientWrite implements CallOwner, Waiter, UnderWay {
  readonly #writing: ClientWriting
  readonly #parts: WriteParts
  #call: Call | undefined
  #connection: PooledConnection | undefined
  #isStopped = false

  constructor(writing: ClientWriting, parts: WriteParts) {
    this.#writing = writing
    this.#parts = parts
  }

  /** Arrow functions, because they are handed on. */
  readonly send = (call: Call): void => {
    this.#call = call
    if (this.#isStopped) call.refuse(lateFault())
    else this.#parts.pool.wait(this)
  }

  take(connection: PooledConnection): void {
    this.#connection = connection
    connection.onIdle = this.#onIdle
    connection.send(this.#call as Call)
  }

  fail(error: unknown): void {
    this.#call?.unsent(error)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#connection !== undefined) this.#connection.cancel()
    else {
      this.#parts.pool.leave(this)
      this.#call?.refuse(lateFault())
    }
  }

  settled(isDone: boolean): void {
    this.#writing.ended(this, isDone)
  }

  failed(call: Call, error: unknown): void {
    // Not run again: that it was cancelled looks like other faults.
    if (this.#isStopped && !call.isInDoubt(error)) call.refuse(toPostgresFault(error))
    else this.#parts.fail(call, error, this.send)
  }

  readonly #onIdle = (connection: PooledConnection): void => {
    this.#connection = undefined
    this.#parts.pool.release(connection)
  }
}
