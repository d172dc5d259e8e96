/**
 * The statements of one transaction. Behind one that failed nothing runs before the part that it stood in is taken back:
 * PostgreSQL is so by itself, SQLite would go on with half of what was meant.
 */
import { attempt, type Later } from '../../core/later.js'
import type { QueryResult, Row, Runner, Statement } from '../engines/engine.js'

export class GuardedRunner implements Runner {
  /** Runs it whatever has failed before. */
  readonly inner: Runner
  #failed = false
  #failure: unknown = undefined

  constructor(inner: Runner) {
    this.inner = inner
  }

  rows(statement: Statement, values: readonly unknown[]): Later<readonly Row[]> {
    return this.#run(() => this.inner.rows(statement, values))
  }

  first(statement: Statement, values: readonly unknown[]): Later<Row | undefined> {
    return this.#run(() => this.inner.first(statement, values))
  }

  change(statement: Statement, values: readonly unknown[]): Later<number> {
    return this.#run(() => this.inner.change(statement, values))
  }

  query(statement: Statement, values: readonly unknown[]): Later<QueryResult> {
    return this.#run(() => this.inner.query(statement, values))
  }

  script(sql: string): Later<void> {
    return this.#run(() => this.inner.script(sql))
  }

  /** @throws {TransactionFailed} a statement has failed, and what it stood in was not taken back */
  assertWhole(): void {
    if (this.#failed) throw new TransactionFailed(this.#failure)
  }

  /** What failed was taken back with all of its part. */
  mend(): void {
    this.#failed = false
    this.#failure = undefined
  }

  #run<T>(work: () => Later<T>): Later<T> {
    this.assertWhole()
    return attempt(work, (error) => {
      if (!this.#failed) {
        this.#failed = true
        this.#failure = error
      }
      throw error
    })
  }
}

/** Work has caught what failed in its transaction, and went on. */
export class TransactionFailed extends Error {
  readonly code = 'TRANSACTION_FAILED'

  constructor(failure: unknown) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    super(
      `A statement of this transaction has failed, so nothing of it can be stored: ${reason}. Run what may fail in a part of its own: tx.transaction(async (part) => …).`,
      { cause: failure },
    )
    this.name = 'TransactionFailed'
  }
}

/** True where what it runs is part of a transaction. */
export function isInTransaction(runner: Runner): boolean {
  return runner instanceof GuardedRunner
}

/** What finds out why a statement has failed: it runs in a transaction that has failed, too, where the engine can. */
export function probing(runner: Runner): Runner {
  return runner instanceof GuardedRunner ? runner.inner : runner
}
