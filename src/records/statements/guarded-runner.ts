/**
 * Runs the statements of one transaction. After a failed statement nothing runs until its savepoint is rolled back.
 * PostgreSQL itself behaves like this, while SQLite would continue with half of the work. After a conflict with another
 * transaction, a savepoint does not help: the whole transaction must run again.
 */
import { attempt, type MaybePromise } from '../../core/maybe-promise.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type {
  Results,
  Runner,
  Statement,
  Values,
  ResultKind,
} from '../../engines/contract/engine.js'
import { isWrite } from '../../engines/contract/statement.js'

export class GuardedRunner implements Runner {
  /** Runs statements even after a failure. */
  readonly inner: Runner
  /** True after a statement that may have changed something. */
  hasWritten = false
  #failed = false
  #failure: unknown = undefined
  /** The conflict that requires the whole transaction to run again. Rolling back a savepoint does not resolve it. */
  #conflict: EngineError | undefined
  #hasRead = false

  constructor(inner: Runner) {
    this.inner = inner
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    this.assertNotFailed()
    if (isWrite(statement)) this.hasWritten = true
    if (statement.kind === 'select' || statement.kind === 'unknown') this.#hasRead = true
    return attempt(() => this.inner.run(statement, values, resultForm), this.#fail)
  }

  get conflict(): EngineError | undefined {
    return this.#conflict
  }

  /** True if its writes may depend on its reads. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /** @throws {TransactionFailed} a statement has failed, and its savepoint was not rolled back */
  assertNotFailed(): void {
    if (this.#failed) throw new TransactionFailed(this.#failure)
  }

  /** The savepoint of the failed statement was rolled back. */
  reset(): void {
    if (this.#conflict !== undefined) return
    this.#failed = false
    this.#failure = undefined
  }

  readonly #fail = (error: unknown): never => {
    if (!this.#failed) {
      this.#failed = true
      this.#failure = error
    }
    if (error instanceof EngineError && error.kind === 'conflict') this.#conflict ??= error
    throw error
  }
}

/** The application caught the error of a statement and continued the transaction. */
class TransactionFailed extends Error {
  readonly code = 'TRANSACTION_FAILED'

  constructor(failure: unknown) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    super(
      `A statement of this transaction has failed, so nothing of it can be stored: ${reason}. Run statements that may fail in a part of their own: tx.transaction(async (part) => …).`,
      { cause: failure },
    )
    this.name = 'TransactionFailed'
  }
}

/** True if it runs statements of a transaction. */
export function isInTransaction(runner: Runner): boolean {
  return runner instanceof GuardedRunner
}

/**
 * A runner for finding the cause of a failed statement. If the engine supports it, it works in a failed transaction.
 */
export function probing(runner: Runner): Runner {
  return runner instanceof GuardedRunner ? runner.inner : runner
}
