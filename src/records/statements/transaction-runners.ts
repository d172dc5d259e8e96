/**
 * The runners of a transaction: one for all of its statements, which stops after a failed statement, and one for each of
 * its scopes.
 */
import { isThenable, promise, type MaybePromise } from '../../core/maybe-promise.js'
import { TransactionError } from '../../core/transaction.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Results, ResultKind, Runner, Values } from '../../engines/contract/engine.js'
import { isWrite, type Statement } from '../../engines/contract/statement.js'
import type { ShardWatch } from './shard-watch.js'

/**
 * Runs the statements of one transaction. After a failed statement nothing runs until its savepoint is rolled back.
 * PostgreSQL itself behaves like this, while SQLite would continue with half of the work. After a conflict with another
 * transaction, a savepoint does not help: the whole transaction must run again.
 */
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
  #runningStatements = 0
  #onIdle: (() => void)[] = []

  readonly #watch: ShardWatch | undefined

  constructor(inner: Runner, watch?: ShardWatch) {
    this.inner = inner
    this.#watch = watch
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    this.checkNotFailed()
    this.#watch?.check(statement, values)
    if (isWrite(statement)) this.hasWritten = true
    if (statement.kind === 'select' || statement.kind === 'unknown') this.#hasRead = true
    try {
      const running = this.inner.run(statement, values, resultForm)
      if (!isThenable(running)) return running
      this.#runningStatements++
      return running.then<Results[W]>(this.#succeed, this.#failLater)
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** True while a statement runs. */
  get isBusy(): boolean {
    return this.#runningStatements > 0
  }

  /** Resolves when no statement runs. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isBusy) this.#onIdle.push(resolve)
      else resolve()
    })
  }

  get conflict(): EngineError | undefined {
    return this.#conflict
  }

  /** True if its writes may depend on its reads. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  /** @throws {TransactionError} `TRANSACTION_FAILED`: a statement has failed, and its savepoint was not rolled back */
  checkNotFailed(): void {
    if (this.#failed) throw failedError(this.#failure)
  }

  /**
   * Rolls back to a savepoint, after which statements may run again. If SQLite has rolled everything back itself, the
   * savepoint no longer exists. Then the first error is reported.
   */
  async rollBackTo(savepoint: Statement): Promise<void> {
    await promise(() => this.inner.run(savepoint, [], 'nothing')).then(
      () => {
        if (this.#conflict !== undefined) return
        this.#failed = false
        this.#failure = undefined
      },
      () => undefined,
    )
  }

  readonly #succeed = <R>(result: R): R => {
    this.#statementEnded()
    return result
  }

  readonly #failLater = (error: unknown): never => {
    this.#statementEnded()
    return this.#fail(error)
  }

  #statementEnded(): void {
    if (--this.#runningStatements > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
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
function failedError(failure: unknown): TransactionError {
  const reason = failure instanceof Error ? failure.message : String(failure)
  const message = `A statement of this transaction has failed, so nothing of it can be stored: ${reason}. Run statements that may fail in a savepoint: tx.transaction(async (part) => …).`
  return new TransactionError('TRANSACTION_FAILED', message, failure)
}

/** The part of a scope that its runner needs. */
interface StatementScope {
  execute<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]>
}

/** Runs the statements of a scope. */
export class ScopeRunner implements Runner {
  /** Runs the statements of the whole transaction. */
  readonly transaction: GuardedRunner
  readonly #scope: StatementScope

  constructor(scope: StatementScope, transaction: GuardedRunner) {
    this.#scope = scope
    this.transaction = transaction
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    return this.#scope.execute(statement, values, resultForm)
  }
}

/** True if it runs statements of a transaction. */
export function isInTransaction(runner: Runner): boolean {
  return runner instanceof ScopeRunner
}

/** The runner of the whole transaction; undefined outside one. */
export function transactionOf(runner: Runner): GuardedRunner | undefined {
  return runner instanceof ScopeRunner ? runner.transaction : undefined
}

/**
 * A runner for finding the cause of a failed statement. If the engine supports it, it works in a failed transaction.
 */
export function probing(runner: Runner): Runner {
  return transactionOf(runner)?.inner ?? runner
}
