/**
 * Commits a transaction that wrote tables with shards and others on all servers or on none, on databases that do so only if
 * they are asked. Source: decisions, Sharding, partitions and failover.
 */
import type { Log } from '../../core/log.js'
import type { Engine, Runner } from '../../engines/contract/engine.js'
import type { JointCommitSql } from '../../engines/contract/dialect.js'
import { frameworkQuery, frameworkScript } from '../../engines/contract/statement.js'

export class JointCommit {
  readonly #engine: Pick<Engine, 'run' | 'schema'>
  readonly #sql: JointCommitSql
  readonly #log: Log
  /** Resolves to whether the table exists. */
  #table: Promise<boolean> | undefined

  constructor(engine: Pick<Engine, 'run' | 'schema'>, sql: JointCommitSql, log: Log) {
    this.#engine = engine
    this.#sql = sql
    this.#log = log
  }

  /** Runs in the transaction, right before its commit. */
  async prepare(transaction: Runner): Promise<void> {
    this.#table ??= this.#createTable()
    if (!(await this.#table)) return
    await transaction.run(frameworkScript(this.#sql.request), [], 'nothing')
  }

  async #createTable(): Promise<boolean> {
    const { isCreated, create } = this.#sql
    try {
      const row = await this.#engine.run(frameworkQuery(isCreated), [], 'first')
      if (row?.[0] === true) return true
      await this.#engine.schema.change(async (runner) => {
        for (const sql of create) await runner.run(frameworkScript(sql), [], 'nothing')
      })
      return true
    } catch (error) {
      this.#log.warn(
        { err: error },
        'a crash in a commit may store rows of shards without the jobs, history and idempotency keys of their transaction, because the table filigree_commit could not be created',
      )
      return false
    }
  }
}
