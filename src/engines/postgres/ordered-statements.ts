/**
 * Runs statements in order on a connection of their own, sent without waiting. Source: PostgreSQL, Extended Query,
 * Pipelining.
 */
import { lateFault } from '../client-writes.js'
import type { Answers, Statement, Values, Wanted } from '../contract/engine.js'
import { EngineFault } from '../contract/engine-fault.js'
import type { ClientWriting, UnderWay } from '../contract/client-writing.js'
import type { OrderedRunner } from '../contract/ordered-runner.js'
import { Call, type CallOwner } from './call.js'
import { toPostgresFault } from './faults.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'

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
