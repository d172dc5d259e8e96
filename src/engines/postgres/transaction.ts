/** A transaction on a connection of its own. */
import { lateFault } from '../client-writes.js'
import type {
  BeginOptions,
  Answers,
  Statement,
  TransactionRunner,
  Values,
  Wanted,
} from '../contract/engine.js'
import type { ClientWriting, UnderWay } from '../contract/request-context.js'
import { isolations } from '../../core/transaction.js'
import { EngineFault } from '../contract/engine-error.js'
import { ownScript } from '../contract/statement.js'
import { Call, type CallOwner } from './call.js'
import { toPostgresFault } from './errors.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'

/** @throws {TypeError} an unknown isolation level */
export function beginStatement(isolation: BeginOptions['isolation']): string {
  if (isolation === undefined) return 'begin'
  if (isolations.includes(isolation)) return `begin isolation level ${isolation}`
  throw new TypeError(`transaction: no isolation "${isolation}". Levels: ${isolations.join(', ')}.`)
}

export class PostgresTransaction implements TransactionRunner, CallOwner, UnderWay {
  readonly #pool: ConnectionPool
  readonly #connection: PooledConnection
  readonly #writing: ClientWriting | undefined
  #isOver = false
  #isCancelled = false

  /**
   * @param connection borrowed from the pool, and returned at the end
   * @param writing the client's request, for which nothing is committed once its time is over
   */
  constructor(pool: ConnectionPool, connection: PooledConnection, writing?: ClientWriting) {
    this.#pool = pool
    this.#connection = connection
    this.#writing = writing
    writing?.begun(this)
  }

  /** @param begin the SQL of `beginStatement` */
  async begin(begin: string): Promise<this> {
    try {
      await this.run(ownScript(begin), [], 'nothing')
      return this
    } catch (error) {
      this.#letGo(true)
      throw error
    }
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Promise<Answers[W]> {
    if (this.#isOver) return Promise.reject(new EngineFault('other', 'The transaction is over.'))
    if (this.#isCancelled && statement.sql !== 'rollback') return Promise.reject(lateFault())
    const isKept = wanted !== 'all' && !this.#connection.names.isPooled
    const call = new Call(statement, values, wanted, this, isKept)
    const answer = call.answer<Answers[W]>()
    this.#connection.send(call)
    return answer
  }

  commit(): Promise<void> {
    return this.#end('commit')
  }

  async rollback(): Promise<void> {
    // If rolling back fails, the connection is closed, which rolls back.
    await this.#end('rollback').catch(() => undefined)
  }

  /**
   * Cancels the running statement on the server, and accepts no other: everything is rolled back. Of a commit that was sent
   * the answer is waited for.
   */
  stop(): void {
    if (this.#isOver || this.#isCancelled) return
    this.#isCancelled = true
    this.#connection.cancel()
    this.#writing?.ended(this, false)
  }

  /**
   * The prepared statement was outdated: the server has ended the transaction, which may run again from its beginning.
   */
  failed(call: Call, error: unknown): void {
    const fault = toPostgresFault(error)
    const isStale = this.#connection.names.heed(call.statement.sql, error)
    call.refuse(isStale ? new EngineFault('conflict', (error as Error).message, fault) : fault)
  }

  async #end(sql: string): Promise<void> {
    if (this.#isOver) return
    const ending = this.run(ownScript(sql), [], 'nothing')
    this.#isOver = true
    try {
      await ending
      this.#letGo(false, sql === 'commit')
    } catch (error) {
      this.#letGo(true)
      throw error
    }
  }

  #letGo(isBroken: boolean, isDone = false): void {
    this.#isOver = true
    this.#writing?.ended(this, isDone)
    if (isBroken) this.#connection.isBroken = true
    this.#pool.release(this.#connection)
  }
}
