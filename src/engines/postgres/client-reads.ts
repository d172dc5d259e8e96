/**
 * Reads for clients: the reads of one request use a share of the pool, so that others find a connection, and are
 * cancelled on the server when the client no longer waits. Reads that start together are sent together, in one round
 * trip.
 * Source: PostgreSQL, Frontend/Backend Protocol, Canceling Requests in Progress.
 */
import type { ClientReading, Statement } from '../contract/engine.js'
import { changes } from '../contract/statement.js'
import { Call, type CallOwner, type Wanted } from './call.js'
import { overFault, toPostgresFault } from './faults.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import type { ReadShares, Sharing } from './read-shares.js'
import { mayRunAgain } from './run-again.js'
import { PostgresRunner } from './runner.js'
import type { SharedReads } from './shared-reads.js'
import type { StatementNames } from './statement-names.js'
import { currentTurn } from './waiting.js'

/** The parts of the engine that a request's reads use. */
export interface ReadParts {
  readonly engine: PostgresRunner
  readonly pool: ConnectionPool
  readonly names: StatementNames
  readonly shares: ReadShares
  readonly brief: SharedReads
}

/** The most reads of one turn of the loop that share a connection; the others use another one. */
const mostTogether = 8

/** Reads that are sent together, and their connection once there is one. */
interface Group {
  readonly turn: number
  size: number
  readonly waiting: Call[]
  connection: PooledConnection | undefined
}

/** Runs the reads of one request. Writes run like all others. */
export class ClientReads extends PostgresRunner implements CallOwner, Sharing {
  inUse = 0
  isOver: boolean
  readonly #parts: ReadParts
  readonly #running = new Set<PooledConnection>()
  #group: Group | undefined
  readonly #onIdle = (connection: PooledConnection): void => {
    this.#running.delete(connection)
    this.#parts.shares.giveBack(this)
    this.#parts.pool.release(connection)
  }

  constructor(reading: ClientReading, parts: ReadParts) {
    super()
    this.#parts = parts
    this.isOver = reading.isOver === true
    if (!this.isOver) {
      reading.onFinished(() => {
        this.#end()
      })
    }
  }

  run<T>(statement: Statement, values: readonly unknown[], wanted: Wanted): Promise<T> {
    if (changes(statement)) return this.#parts.engine.run(statement, values, wanted)
    if (this.isOver) return Promise.reject(overFault())
    const call = new Call(statement, values, wanted, this)
    const answer = call.answer<T>()
    // A page goes beside its count, which is not brief: one message for both.
    if (statement.together === 'calls') this.#parts.brief.read(call)
    else this.#send(call)
    return answer
  }

  script(sql: string): Promise<void> {
    return this.#parts.engine.script(sql)
  }

  /**
   * Runs again under the same conditions as in the engine: the connection was dead, or the prepared statement outdated.
   */
  failed(call: Call, error: unknown): void {
    const fault = toPostgresFault(error)
    const runsAgain = mayRunAgain(call, fault, this.#parts.names)
    if (runsAgain && !this.isOver) this.#send(call)
    else call.refuse(fault)
  }

  moved(call: Call): void {
    if (this.isOver) call.refuse(overFault())
    else this.#send(call)
  }

  isAlone(_call: Call, connection: PooledConnection): void {
    this.#parts.shares.count(this, 1)
    this.#running.add(connection)
    connection.onIdle = this.#onIdle
    if (this.isOver) connection.cancel()
  }

  /** Runs it on a connection that no other request shares. */
  #send(call: Call): void {
    const group = this.#group
    const fits = group?.turn === currentTurn() && group.size < mostTogether
    if (group === undefined || !fits || group.connection?.isBroken === true) {
      this.#begin(call)
      return
    }
    group.size++
    if (group.connection === undefined) group.waiting.push(call)
    else group.connection.send(call)
  }

  #begin(call: Call): void {
    const { shares, pool } = this.#parts
    const group: Group = { turn: currentTurn(), size: 1, waiting: [call], connection: undefined }
    this.#group = group
    shares.take(this, () => {
      pool.wait({
        take: (connection) => {
          this.#run(group, connection)
        },
        fail: (error) => {
          shares.giveBack(this)
          for (const waiting of group.waiting.splice(0)) waiting.unsent(error)
        },
      })
    })
  }

  #run(group: Group, connection: PooledConnection): void {
    const calls = group.waiting.splice(0)
    if (this.isOver) {
      for (const call of calls) call.refuse(overFault())
      this.#onIdle(connection)
      return
    }
    group.connection = connection
    this.#running.add(connection)
    connection.onIdle = this.#onIdle
    connection.sendAll(calls)
  }

  #end(): void {
    this.isOver = true
    for (const connection of this.#running) connection.cancel()
    this.#parts.shares.wake()
  }
}
