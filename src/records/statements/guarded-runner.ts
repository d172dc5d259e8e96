/**
 * Runs the statements of one transaction. After a failed one nothing runs until its part of the transaction is rolled
 * back: PostgreSQL itself behaves so, but SQLite would continue with half of the work. After a conflict with another
 * transaction no part helps: the whole transaction must run again.
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
  /** A statement was run that may have changed something. */
  hasWritten = false
  #failed = false
  #failure: unknown = undefined
  /** Why the whole transaction must run again; rolling a part back does not help. */
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

  /** True if it may have written something because of what it read. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /** @throws {TransactionFailed} a statement has failed, and its part was not rolled back */
  assertNotFailed(): void {
    if (this.#failed) throw new TransactionFailed(this.#failure)
  }

  /** The part with the failed statement was rolled back. */
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

/** The application caught an error of a statement and continued the transaction. */
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

/** A runner to find out why a statement failed: if the engine can, it works in a failed transaction, too. */
export function probing(runner: Runner): Runner {
  return runner instanceof GuardedRunner ? runner.inner : runner
}
