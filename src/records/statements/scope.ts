/**
 * An open transaction: the runner of its statements, the callbacks for its end, and its savepoints, which can fail
 * alone.
 */
import type { OpenTransaction, Isolation } from '../../core/transaction.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Runner, Results, Values, ResultKind } from '../../engines/contract/engine.js'
import { frameworkScript, type Statement, isWrite } from '../../engines/contract/statement.js'
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import type { RecordsContext, Source } from './source.js'
import { attempt, type MaybePromise } from '../../core/maybe-promise.js'

/** The parts of `Transactions` that a scope needs. */
export interface ScopeHost {
  /** Receives committed changes. */
  readonly feed: ChangeFeed
  /** Runs work so that everything it calls belongs to this scope. */
  inside<T>(scope: Scope, work: () => Promise<T>): Promise<T>
}

interface ScopeParts {
  readonly context: RecordsContext
  readonly runner: GuardedRunner
  readonly transactions: ScopeHost
  readonly isolation: Isolation | undefined
  readonly depth?: number
}

/** An open transaction, or a part of one with a savepoint. */
export class Scope implements Source, OpenTransaction {
  readonly context: RecordsContext
  readonly changes: RowChanges[] = []
  /** Work to run after the commit. */
  readonly afterCommit: (() => Promise<void>)[] = []
  readonly #commitCallbacks: (() => void)[] = []
  readonly #rollbackCallbacks: (() => void)[] = []
  isOver = false
  /** Undefined: the database's default. */
  readonly isolation: Isolation | undefined
  readonly #runner: GuardedRunner
  readonly #depth: number
  readonly #transactions: ScopeHost
  /** Savepoints are a stack, so nested work runs one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor({ context, runner, transactions, isolation, depth = 0 }: ScopeParts) {
    this.context = context
    this.isolation = isolation
    this.#runner = runner
    this.#transactions = transactions
    this.#depth = depth
  }

  runner(): Runner {
    if (this.isOver) throw new EngineError('other', 'The transaction is over.')
    return this.#runner
  }

  changed(changes: RowChanges): void {
    this.changes.push(changes)
  }

  committed(work: () => Promise<void>): void {
    this.afterCommit.push(work)
  }

  onCommit(work: () => void): void {
    this.#commitCallbacks.push(work)
  }

  onRollback(work: () => void): void {
    this.#rollbackCallbacks.push(work)
  }

  /** Calls the callbacks for the end of the transaction. */
  end(isCommitted: boolean): void {
    for (const work of isCommitted ? this.#commitCallbacks : this.#rollbackCallbacks) work()
  }

  get feed(): ChangeFeed {
    return this.#transactions.feed
  }

  announces(): boolean {
    return false
  }

  atomically<T>(work: (source: Source) => Promise<T>): Promise<T> {
    return this.nested(work)
  }

  /** Runs work that can fail alone. */
  nested<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    const running = this.#last.then(() => this.#runNested(work))
    this.#last = running.catch(() => undefined)
    return running
  }

  async #runNested<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    const depth = this.#depth + 1
    const name = `filigree_${depth}`
    const runner = this.runner()
    await runner.run(part(`savepoint ${name}`), [], 'nothing')
    const { context, isolation } = this
    const transactions = this.#transactions
    const scope = new Scope({ context, runner: this.#runner, transactions, isolation, depth })
    try {
      const result = await this.#transactions.inside(scope, () => work(scope))
      await runner.run(part(`release savepoint ${name}`), [], 'nothing')
      this.changes.push(...scope.changes)
      this.afterCommit.push(...scope.afterCommit)
      this.#commitCallbacks.push(...scope.#commitCallbacks)
      this.#rollbackCallbacks.push(...scope.#rollbackCallbacks)
      return result
    } catch (error) {
      await this.#rollBackTo(name)
      scope.end(false)
      throw error
    } finally {
      scope.isOver = true
    }
  }

  /**
   * If SQLite has rolled everything back itself, the savepoint no longer exists. Then the first error is reported.
   */
  async #rollBackTo(name: string): Promise<void> {
    const { inner } = this.#runner
    await settled(() => inner.run(part(`rollback to savepoint ${name}`), [], 'nothing')).then(
      () => {
        this.#runner.reset()
      },
      () => undefined,
    )
  }
}

/** Begins or ends a part of a transaction. */
function part(sql: string): Statement {
  return frameworkScript(sql, { kind: 'savepoint', tables: [] })
}

/** Runs a function; an exception becomes a rejection. */
async function settled(run: () => unknown): Promise<void> {
  await run()
}

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
      `A statement of this transaction has failed, so nothing of it can be stored: ${reason}. Run statements that may fail in a savepoint: tx.transaction(async (part) => …).`,
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
