/**
 * Reads for clients: of one request they take a share of the pool, so that others find a connection, and end on the server
 * too once nobody waits for the answer. Source: PostgreSQL, Frontend/Backend Protocol, Canceling Requests in Progress.
 */
import {
  EngineFault,
  type ClientReading,
  type QueryResult,
  type Row,
  type Runner,
  type Statement,
} from '../engine.js'
import { Connection, toQueryResult, type Client } from './connection.js'
import { cancelStatement, type CancelConnection } from './cancel-statement.js'
import { tookTooLong } from './faults.js'
import type { PoolQueue } from './pool-queue.js'
import type { Result } from './connection.js'
import { letGo } from './transaction.js'
import { mostAttempts, type StatementNames } from './statement-names.js'

/** What the reads of all requests share. */
export class ReadShares {
  /** Connections that one request may have at once. */
  readonly share: number
  /** Connections that requests may have which have one already; the others are left for who has none. */
  readonly most: number
  inUse = 0
  readonly #waiting = new Set<{ readonly reads: ClientReads; readonly go: () => void }>()

  constructor(connections: number) {
    this.share = Math.max(1, Math.floor(connections / 3))
    this.most = Math.max(1, connections - this.share)
  }

  async take(reads: ClientReads): Promise<void> {
    if (!this.#fits(reads)) {
      await new Promise<void>((go) => this.#waiting.add({ reads, go }))
      return
    }
    this.#count(reads, 1)
  }

  giveBack(reads: ClientReads): void {
    this.#count(reads, -1)
    this.wake()
  }

  /** Lets those go on who may now, in the order in which they came. */
  wake(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.reads)) continue
      this.#waiting.delete(waiting)
      this.#count(waiting.reads, 1)
      waiting.go()
    }
  }

  #fits(reads: ClientReads): boolean {
    if (reads.inUse === 0 || reads.isOver) return true
    return reads.inUse < this.share && this.inUse < this.most
  }

  #count(reads: ClientReads, by: 1 | -1): void {
    reads.inUse += by
    this.inUse += by
  }
}

/** What the engine lends to the reads of a request. */
export interface ReadParts {
  readonly engine: Runner
  readonly queue: PoolQueue
  readonly names: StatementNames
  readonly shares: ReadShares
  readonly cancelling: CancelConnection
  /** Whether what was prepared is stale, of which the engine takes note. */
  readonly heedStale: (fault: EngineFault) => boolean
}

/** Runs the reads of one request. What writes goes the way of all others. */
export class ClientReads implements Runner {
  /** Connections that it has now. */
  inUse = 0
  isOver: boolean
  readonly #parts: ReadParts
  readonly #running = new Set<Client>()

  constructor(reading: ClientReading, parts: ReadParts) {
    this.#parts = parts
    this.isOver = reading.isOver === true
    if (!this.isOver) {
      reading.onFinished(() => {
        this.#end()
      })
    }
  }

  async rows(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    if (statement.writes) return this.#parts.engine.rows(statement, values)
    return (await this.#read(statement, values, true)).rows
  }

  async first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    if (statement.writes) return this.#parts.engine.first(statement, values)
    return (await this.#read(statement, values, true)).rows[0]
  }

  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return this.#parts.engine.change(statement, values)
  }

  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    if (statement.writes) return this.#parts.engine.query(statement, values)
    return toQueryResult(await this.#read(statement, values, false))
  }

  async script(sql: string): Promise<void> {
    await this.#parts.engine.script(sql)
  }

  /** Again as the engine does: where the connection was found dead, or what was prepared on it is stale. */
  async #read(statement: Statement, values: readonly unknown[], keep: boolean): Promise<Result> {
    const { shares, heedStale } = this.#parts
    await shares.take(this)
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#readOnce(statement, values, keep && attempt < mostAttempts)
        } catch (error) {
          if (!(error instanceof EngineFault) || this.isOver || attempt >= mostAttempts) throw error
          const isLost = error.kind === 'unavailable' && !tookTooLong(error)
          if (!heedStale(error) && !(isLost && attempt === 1)) throw error
        }
      }
    } finally {
      shares.giveBack(this)
    }
  }

  async #readOnce(
    statement: Statement,
    values: readonly unknown[],
    keep: boolean,
  ): Promise<Result> {
    const client = await this.#connect()
    let isBroken = true
    try {
      if (this.isOver) {
        isBroken = false
        throw isOverFault()
      }
      this.#running.add(client)
      const result = await new Connection(client, this.#parts.names).run(statement, values, keep)
      isBroken = this.isOver
      return result
    } catch (error) {
      // The server tells what is wrong with a statement by a code; without one the connection is.
      const { code } = ((error as { cause?: unknown }).cause ?? {}) as { code?: unknown }
      if (!this.isOver && typeof code === 'string' && (code === '57014' || /^[0-4]/.test(code)))
        isBroken = false
      throw error
    } finally {
      this.#running.delete(client)
      // What was cancelled may be told so late: its connection is used by nobody else.
      letGo(client, isBroken)
    }
  }

  #connect(): Promise<Client> {
    return this.isOver ? Promise.reject(isOverFault()) : this.#parts.queue.take()
  }

  #end(): void {
    this.isOver = true
    for (const client of this.#running) cancelStatement(client, this.#parts.cancelling)
    this.#parts.shares.wake()
  }
}

function isOverFault(): EngineFault {
  return new EngineFault('other', 'The request was answered, or its client has gone.')
}
