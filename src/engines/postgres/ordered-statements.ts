/**
 * Runs statements in order on a connection of their own, sent without waiting. Source: PostgreSQL, Extended Query,
 * Pipelining.
 */
import { EngineFault, type Statement } from '../contract/engine.js'
import { ownChange } from '../contract/statement.js'
import type { OrderedRunner } from '../contract/ordered-runner.js'
import { Call, type CallOwner, type Wanted } from './call.js'
import { toPostgresFault } from './faults.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import { PostgresRunner } from './runner.js'

export class OrderedStatements extends PostgresRunner implements OrderedRunner, CallOwner {
  readonly #pool: ConnectionPool
  readonly #connection: PooledConnection

  /** @param connection borrowed from the pool, and returned at the end */
  constructor(pool: ConnectionPool, connection: PooledConnection) {
    super()
    this.#pool = pool
    this.#connection = connection
  }

  run<T>(statement: Statement, values: readonly unknown[], wanted: Wanted): Promise<T> {
    const connection = this.#connection
    const isKept = wanted !== 'all' && !connection.names.isPooled
    const call = new Call(statement, values, wanted, this, isKept)
    const answer = call.answer<T>()
    connection.sendLater(call)
    return answer
  }

  script(sql: string): Promise<void> {
    return this.run(ownChange('script', sql), [], 'script')
  }

  end(): void {
    const connection = this.#connection
    if (connection.calls.size === 0) {
      this.#pool.release(connection)
      return
    }
    connection.onIdle = (free) => {
      this.#pool.release(free)
    }
  }

  /** A failed statement is not run again, because it would then come after later ones. */
  failed(call: Call, error: unknown): void {
    const fault = toPostgresFault(error)
    const isStale = this.#connection.names.heed(call.statement.sql, error)
    call.refuse(isStale ? new EngineFault('unavailable', (error as Error).message, fault) : fault)
  }
}
