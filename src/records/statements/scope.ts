/**
 * An open transaction: the runner of its statements, the callbacks for its end, and its parts, which are savepoints and can
 * fail alone. Code that belongs to it cannot run statements after its end.
 */
import { setImmediate } from 'node:timers/promises'
import { TransactionError, type OpenTransaction, type Isolation } from '../../core/transaction.js'
import type { Runner, Results, Values, ResultKind } from '../../engines/contract/engine.js'
import { frameworkScript, type Statement, isWrite } from '../../engines/contract/statement.js'
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import type { RecordsContext, Source } from './source.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { Deadline } from './transaction-options.js'
import { type GuardedRunner, ScopeRunner } from './transaction-runners.js'

/** The parts of `Transactions` that a scope needs. */
export interface ScopeHost {
  /** Receives committed changes. */
  readonly feed: ChangeFeed
  /** Runs work so that everything it calls belongs to this scope. */
  inside<T>(scope: Scope, work: () => Promise<T>): Promise<T>
  /** The scope of the running code, also after its end. */
  runningScope(): Scope | undefined
  /** Runs work after a commit, and logs its errors. */
  runCommitted(works: readonly (() => Promise<void>)[]): Promise<void>
}

interface ScopeParts {
  readonly context: RecordsContext
  readonly runner: GuardedRunner
  readonly transactions: ScopeHost
  readonly isolation: Isolation | undefined
  /** The scope that contains it. Undefined for a transaction. */
  readonly parent?: Scope
  /** The number of savepoints around it. */
  readonly depth?: number
}

/**
 * `ending`: the work has ended or was interrupted, so no statement may follow. `kept`: a part that is released, whose
 * outcome is the outcome of its parent.
 */
type ScopeState = 'open' | 'ending' | 'kept' | 'committed' | 'undone'

/** An open transaction, or a part of one with a savepoint. */
export class Scope implements Source, OpenTransaction {
  readonly context: RecordsContext
  /** Undefined: the database's default. */
  readonly isolation: Isolation | undefined
  readonly #guarded: GuardedRunner
  readonly #runner: ScopeRunner
  readonly #transactions: ScopeHost
  readonly #parent: Scope | undefined
  readonly #depth: number
  readonly #changes: RowChanges[] = []
  readonly #afterCommit: (() => Promise<void>)[] = []
  readonly #commitCallbacks: (() => void)[] = []
  readonly #rollbackCallbacks: (() => void)[] = []
  #state: ScopeState = 'open'
  /** The error that ended the work. */
  #interruption: unknown
  #reject: ((error: unknown) => void) | undefined
  /** The open part. */
  #part: Scope | undefined
  /** Savepoints are a stack, so parts run one after the other. */
  #lastPart: Promise<unknown> = Promise.resolve()
  #ended: PromiseWithEnd | undefined

  constructor({ context, runner, transactions, isolation, parent, depth = 0 }: ScopeParts) {
    this.context = context
    this.isolation = isolation
    this.#guarded = runner
    this.#runner = new ScopeRunner(this, runner)
    this.#transactions = transactions
    this.#parent = parent
    this.#depth = depth
  }

  get feed(): ChangeFeed {
    return this.#transactions.feed
  }

  /** The rows that were written, in order. */
  get changes(): readonly RowChanges[] {
    return this.#changes
  }

  /** Work to run after the commit. */
  get afterCommit(): readonly (() => Promise<void>)[] {
    return this.#afterCommit
  }

  runner(): Runner {
    this.checkNotOver()
    return this.#runner
  }

  /** @throws {TransactionError} `TRANSACTION_OVER`: it was committed or rolled back */
  checkNotOver(): void {
    if (this.#state !== 'open' && this.#state !== 'ending') throw this.#overError()
  }

  changed(changes: RowChanges): void {
    const scope = this.#decidingScope()
    if (scope.#state === 'committed') this.feed.notify([changes])
    else if (scope.#state !== 'undone') scope.#changes.push(changes)
  }

  committed(work: () => Promise<void>): void {
    const scope = this.#decidingScope()
    if (scope.#state === 'committed') void this.#transactions.runCommitted([work])
    else if (scope.#state !== 'undone') scope.#afterCommit.push(work)
  }

  onCommit(work: () => void): void {
    const scope = this.#decidingScope()
    if (scope.#state === 'committed') work()
    else if (scope.#state !== 'undone') scope.#commitCallbacks.push(work)
  }

  onRollback(work: () => void): void {
    const scope = this.#decidingScope()
    if (scope.#state === 'undone') work()
    else if (scope.#state !== 'committed') scope.#rollbackCallbacks.push(work)
  }

  announces(): boolean {
    return false
  }

  atomically<T>(work: (source: Source) => Promise<T>): Promise<T> {
    return this.nested(work)
  }

  /** Runs a statement of the running code. */
  execute<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    return this.#runningScope().#execute(statement, values, resultForm)
  }

  /**
   * Runs work that can fail alone.
   *
   * @param timeout milliseconds for the work; undefined: the time of the transaction
   */
  nested<T>(work: (scope: Scope) => Promise<T>, timeout?: number): Promise<T> {
    const scope = this.#runningScope()
    const running = scope.#lastPart.then(() => scope.#runPart(work, timeout))
    scope.#lastPart = running.catch(() => undefined)
    return running
  }

  /** Runs the work of this scope. Rejects when the scope is interrupted, even if the work never ends. */
  run<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') return Promise.reject(this.#overError())
    return new Promise((resolve, reject) => {
      this.#reject = reject
      this.#transactions.inside(this, () => work(this)).then(resolve, reject)
    })
  }

  /**
   * Ends the work of the scope. No statement of it runs from now on.
   *
   * @returns false if its work has ended before
   */
  interrupt(error: Error): boolean {
    if (this.#state !== 'open') return false
    this.#state = 'ending'
    this.#interruption = error
    this.#reject?.(error)
    return true
  }

  /**
   * Ends the scope after its work: refuses further statements, rolls back a part whose work has not ended, and waits for
   * running statements and for what their callers record.
   */
  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'ending'
    await this.#endPart()
    while (this.#guarded.isBusy) {
      await this.#guarded.whenIdle()
      await setImmediate()
    }
  }

  /** Runs work of the framework after the application's work has ended, right before the commit. */
  async runBeforeCommit(work: () => Promise<void>): Promise<void> {
    const last = this.#createPart(this.#depth)
    try {
      await last.run(work)
      await last.close()
      this.#keep(last)
    } catch (error) {
      last.abandon(error)
      throw error
    }
  }

  /** Refuses all statements from now on, because the transaction is about to be rolled back. */
  abandon(error: unknown): void {
    this.#interruption ??= error
    this.#state = 'undone'
    this.#part?.abandon(error)
    this.#reject?.(error)
  }

  /** Records the outcome, and calls the callbacks for it. */
  end(isCommitted: boolean): void {
    this.#state = isCommitted ? 'committed' : 'undone'
    const callbacks = isCommitted ? this.#commitCallbacks : this.#rollbackCallbacks
    for (const work of callbacks.splice(0)) work()
    if (!isCommitted) this.#part?.end(false)
  }

  #execute<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (this.#state !== 'open') throw this.#overError()
    const part = this.#part
    // A rollback of the part would undo a write that its caller believes to be stored.
    if (part !== undefined && isWrite(statement))
      return part.#whenEnded().then(() => this.#execute(statement, values, resultForm))
    return this.#guarded.run(statement, values, resultForm)
  }

  async #runPart<T>(work: (scope: Scope) => Promise<T>, timeout?: number): Promise<T> {
    if (this.#state !== 'open') throw this.#overError()
    const deadline = timeout === undefined ? undefined : new Deadline(timeout)
    const part = this.#createPart(this.#depth + 1)
    const name = `filigree_${part.#depth}`
    this.#part = part
    try {
      await this.#guarded.run(partStatement(`savepoint ${name}`), [], 'nothing')
      return await this.#runInSavepoint(part, { name, work, deadline })
    } finally {
      if (this.#part === part) this.#part = undefined
      if (part.#state === 'open' || part.#state === 'ending') part.end(false)
      part.#ended?.resolve()
    }
  }

  async #runInSavepoint<T>(part: Scope, { name, work, deadline }: PartWork<T>): Promise<T> {
    const stopTimer = deadline?.whenOver((error) => {
      part.interrupt(error)
    })
    try {
      const result = await part.run(work)
      await part.close()
      part.checkNotOver()
      deadline?.checkNotOver()
      await this.#guarded.run(partStatement(`release savepoint ${name}`), [], 'nothing')
      this.#keep(part)
      return result
    } catch (error) {
      await this.#undo(part, name)
      throw error
    } finally {
      stopTimer?.()
    }
  }

  #createPart(depth: number): Scope {
    const { context, isolation } = this
    const transactions = this.#transactions
    return new Scope({
      context,
      runner: this.#guarded,
      transactions,
      isolation,
      parent: this,
      depth,
    })
  }

  /** Adds what a part has recorded, because its outcome is now the outcome of this scope. */
  #keep(part: Scope): void {
    if (this.#state === 'undone') {
      part.end(false)
      return
    }
    part.#state = 'kept'
    this.#changes.push(...part.#changes.splice(0))
    this.#afterCommit.push(...part.#afterCommit.splice(0))
    this.#commitCallbacks.push(...part.#commitCallbacks.splice(0))
    this.#rollbackCallbacks.push(...part.#rollbackCallbacks.splice(0))
  }

  /** Rolls a part back, unless the whole transaction is rolled back. */
  async #undo(part: Scope, name: string): Promise<void> {
    if (part.#state === 'open') part.#state = 'ending'
    await part.#endPart()
    if (this.#state !== 'undone')
      await this.#guarded.rollBackTo(partStatement(`rollback to savepoint ${name}`))
    part.end(false)
  }

  /** Interrupts the open part, and waits until it is rolled back. */
  async #endPart(): Promise<void> {
    const part = this.#part
    if (part === undefined) return
    part.interrupt(this.#overError())
    await part.#whenEnded()
  }

  /** Resolves when a part is released or rolled back. */
  #whenEnded(): Promise<void> {
    this.#ended ??= createEnd()
    return this.#ended.promise
  }

  /**
   * The scope of the running code if it is a part of this one. Code of a part may use the outer transaction, and its
   * changes end with the part.
   */
  #runningScope(): Scope {
    const running = this.#transactions.runningScope()
    return running !== undefined && running.#isPartOf(this) ? running : this
  }

  /** The scope whose outcome decides about what the running code records. */
  #decidingScope(): Scope {
    let scope = this.#runningScope()
    while (scope.#state === 'kept' && scope.#parent !== undefined) scope = scope.#parent
    return scope
  }

  #isPartOf(other: Scope): boolean {
    return this === other || (this.#parent !== undefined && this.#parent.#isPartOf(other))
  }

  /** The error of code that runs on after the end. */
  #overError(): TransactionError {
    const subject = this.#parent === undefined ? 'The transaction' : 'This part of the transaction'
    const cause = this.#interruption
    const outcome = cause === undefined ? 'Its function has returned' : 'It was rolled back'
    const message = `${subject} is over. ${outcome} before this call. Await the call inside the function. Start later work with onCommit, @AfterCommit or a job.`
    return new TransactionError('TRANSACTION_OVER', message, cause)
  }
}

interface PartWork<T> {
  /** The name of its savepoint. */
  readonly name: string
  readonly work: (scope: Scope) => Promise<T>
  readonly deadline: Deadline | undefined
}

/** A promise that is resolved by its owner. */
interface PromiseWithEnd {
  readonly promise: Promise<void>
  resolve(): void
}

function createEnd(): PromiseWithEnd {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((resolveNow) => {
    resolve = resolveNow
  })
  return {
    promise,
    resolve: () => {
      resolve()
    },
  }
}

/** Begins or ends a part of a transaction. */
function partStatement(sql: string): Statement {
  return frameworkScript(sql, { kind: 'savepoint', tables: [] })
}
