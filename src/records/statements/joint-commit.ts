/**
 * Commits a transaction that wrote tables with shards and others on all servers or on none, on databases that do so only if
 * they are asked. Source: decisions, Sharding, partitions and failover.
 */
import type { Log } from '../../core/log.js'
import type { Engine, EngineSchema, Runner } from '../../engines/contract/engine.js'
import type { JointCommitSql } from '../../engines/contract/dialect.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { frameworkQuery, frameworkScript } from '../../engines/contract/statement.js'
import { DeclarationError } from '../../errors/declaration-error.js'

export class JointCommit {
  readonly #schema: EngineSchema
  readonly #sql: JointCommitSql
  readonly #log: Log
  /** Undefined until it is known. */
  #hasTable: boolean | undefined
  #creating: Promise<boolean> | undefined

  constructor({ schema }: Pick<Engine, 'schema'>, sql: JointCommitSql, log: Log) {
    this.#schema = schema
    this.#sql = sql
    this.#log = log
  }

  /**
   * Runs in the transaction, right before its commit.
   *
   * @throws {EngineError} the table cannot be created at the moment
   */
  async prepare(transaction: Runner): Promise<void> {
    // In the transaction, because all other connections of the pool may have transactions that wait here.
    this.#hasTable ??= (await this.#isCreated(transaction)) || (await this.#create())
    if (this.#hasTable) await transaction.run(frameworkScript(this.#sql.request), [], 'nothing')
  }

  async #isCreated(runner: Runner): Promise<boolean> {
    const row = await runner.run(frameworkQuery(this.#sql.isCreated), [], 'first')
    return row?.[0] === true
  }

  /** @returns false if the server does not allow it */
  #create(): Promise<boolean> {
    this.#creating ??= this.#tryToCreate().finally(() => {
      this.#creating = undefined
    })
    return this.#creating
  }

  async #tryToCreate(): Promise<boolean> {
    try {
      await this.#schema.change(async (runner) => {
        if (await this.#isCreated(runner)) return
        for (const sql of this.#sql.create) await runner.run(frameworkScript(sql), [], 'nothing')
      })
      return true
    } catch (error) {
      this.#throwIfTemporary(error)
      this.#log.warn(
        { err: error },
        'a crash in a commit may store rows of shards without the jobs, history and idempotency keys of their transaction, because the table filigree_commit could not be created',
      )
      return false
    }
  }

  /** Without the table, the commit would not be safe: its request gets a 503, and the next one tries again. */
  #throwIfTemporary(error: unknown): void {
    // Another process changes the schema for a long time.
    const isLocked = error instanceof DeclarationError
    if (isLocked || (error instanceof EngineError && this.#sql.isTemporary(error)))
      throw new EngineError('unavailable', error.message, error)
    if (error instanceof EngineError && (error.kind === 'unavailable' || error.kind === 'conflict'))
      throw error
  }
}
