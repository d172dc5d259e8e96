/** A transaction on its own connection. */
import { requestTimeoutError } from '../client-writes.js'
import type {
  BeginOptions,
  Results,
  Statement,
  TransactionRunner,
  Values,
  ResultKind,
  ClientWriting,
  PendingWrite,
} from '../contract/engine.js'
import { isolations } from '../../core/transaction.js'
import { EngineError } from '../contract/engine-error.js'
import { frameworkScript } from '../contract/statement.js'
import { Call, type CallOwner } from './call.js'
import { convertPostgresError, isRefused } from './errors.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'

/** @throws {TypeError} an unknown isolation level */
export function beginStatement(isolation: BeginOptions['isolation']): string {
  if (isolation === undefined) return 'begin'
  if (isolations.includes(isolation)) return `begin isolation level ${isolation}`
  throw new TypeError(`transaction: no isolation "${isolation}". Levels: ${isolations.join(', ')}.`)
}

export class PostgresTransaction implements TransactionRunner, CallOwner, PendingWrite {
  readonly #pool: ConnectionPool
  readonly #connection: PooledConnection
  readonly #writing: ClientWriting | undefined
  #isOver = false
  #isCancelled = false

  /**
   * @param connection acquired from the pool, and released at the end
   * @param writing the client's request; nothing is committed after its timeout
   */
  constructor(pool: ConnectionPool, connection: PooledConnection, writing?: ClientWriting) {
    this.#pool = pool
    this.#connection = connection
    this.#writing = writing
    writing?.writeStarted(this)
  }

  /**
   * @param begin the SQL of `beginStatement`
   * @param settings statements that are sent with it
   */
  async begin(begin: string, settings: readonly string[] = []): Promise<this> {
    try {
      await Promise.all(
        [begin, ...settings].map((sql) => this.run(frameworkScript(sql), [], 'nothing')),
      )
      return this
    } catch (error) {
      this.#release(true)
      throw error
    }
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    if (this.#isOver) return Promise.reject(new EngineError('other', 'The transaction is over.'))
    if (this.#isCancelled && statement.sql !== 'rollback')
      return Promise.reject(requestTimeoutError())
    const isPrepared = resultKind !== 'all' && !this.#connection.names.isPooled
    const call = new Call(statement, values, resultKind, this, isPrepared)
    const result = call.result<Results[W]>()
    this.#connection.send(call)
    return result
  }

  commit(): Promise<void> {
    return this.#end('commit')
  }

  async rollback(): Promise<void> {
    // If rolling back fails, the connection is closed, which rolls back.
    await this.#end('rollback').catch(() => undefined)
  }

  /**
   * Cancels the running statement on the server and rejects all others, so that everything is rolled back. If the commit was
   * sent already, its result counts.
   */
  stop(): void {
    if (this.#isOver || this.#isCancelled) return
    this.#isCancelled = true
    this.#connection.cancel()
    this.#writing?.writeEnded(this, false)
  }

  /**
   * The prepared statement was outdated: the server has ended the transaction, which may run again from its beginning.
   */
  failed(call: Call, error: unknown): void {
    const converted = convertPostgresError(error)
    const isStale = this.#connection.names.recordStaleness(call.statement.sql, error)
    call.reject(
      isStale ? new EngineError('conflict', (error as Error).message, converted) : converted,
    )
  }

  async #end(sql: string): Promise<void> {
    if (this.#isOver) return
    const ending = this.run(frameworkScript(sql), [], 'nothing')
    this.#isOver = true
    try {
      await ending
      this.#release(false, sql === 'commit')
    } catch (error) {
      // After a refused commit the server has rolled back.
      this.#release(sql === 'rollback' || !isRefused(error))
      throw error
    }
  }

  #release(isBroken: boolean, isDone = false): void {
    this.#isOver = true
    this.#writing?.writeEnded(this, isDone)
    if (isBroken) this.#connection.isBroken = true
    this.#pool.release(this.#connection)
  }
}
