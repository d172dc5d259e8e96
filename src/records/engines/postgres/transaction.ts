/** A transaction on a connection of its own. */
import type { BeginOptions } from '../begin-options.js'
import {
  EngineFault,
  type QueryResult,
  type Row,
  type Statement,
  type TransactionRunner,
} from '../engine.js'
import { toQueryResult, type Client, type Connection, type Result } from './connection.js'
import { stalenessOf } from './statement-names.js'

const levels: ReadonlySet<string> = new Set(['read committed', 'repeatable read', 'serializable'])

/** @throws {TypeError} an isolation that there is not */
export function beginStatement(isolation: BeginOptions['isolation']): string {
  if (isolation === undefined) return 'begin'
  if (levels.has(isolation)) return `begin isolation level ${isolation}`
  throw new TypeError(
    `transaction: no isolation "${isolation}". Levels: ${[...levels].join(', ')}.`,
  )
}

/** Between two statements of a transaction nobody listens, and the loss would end the process; the next statement tells. */
export function onLoss(): void {
  return undefined
}

export function letGo(client: Client, isBroken: boolean): void {
  client.off('error', onLoss)
  client.release(isBroken)
}

export class PostgresTransaction implements TransactionRunner {
  readonly #client: Client
  readonly #connection: Connection
  readonly #onSwapped: () => void
  #isOver = false

  /** @param onSwapped told when a statement that was prepared is not on this connection */
  constructor(client: Client, connection: Connection, onSwapped: () => void) {
    this.#client = client
    this.#connection = connection
    this.#onSwapped = onSwapped
  }

  async rows(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return (await this.#run(statement, values, true)).rows
  }

  async first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.#run(statement, values, true)).rows[0]
  }

  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return (await this.#run(statement, values, true)).rowCount ?? 0
  }

  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    return toQueryResult(await this.#run(statement, values, false))
  }

  async script(sql: string): Promise<void> {
    await this.#living().script(sql)
  }

  commit(): Promise<void> {
    return this.#end('commit')
  }

  async rollback(): Promise<void> {
    // A connection that cannot roll back is closed, which rolls back.
    await this.#end('rollback').catch(() => undefined)
  }

  /** What was prepared is stale: the server has ended the transaction, which may be tried again from its beginning. */
  async #run(statement: Statement, values: readonly unknown[], keep: boolean): Promise<Result> {
    try {
      return await this.#living().run(statement, values, keep)
    } catch (error) {
      const staleness = error instanceof EngineFault ? stalenessOf(error.cause) : undefined
      if (staleness === undefined) throw error
      if (staleness !== 'outdated') this.#onSwapped()
      throw new EngineFault('conflict', (error as Error).message, error)
    }
  }

  async #end(sql: string): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    try {
      await this.#connection.script(sql)
      letGo(this.#client, false)
    } catch (error) {
      letGo(this.#client, true)
      throw error
    }
  }

  #living(): Connection {
    if (this.#isOver) throw new EngineFault('other', 'The transaction is over.')
    return this.#connection
  }
}
