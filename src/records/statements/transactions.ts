/**
 * Begins, repeats and ends transactions, and finds the transaction of the running code. It tracks asynchronous calls,
 * so that an injected repository joins the transaction of the route that calls it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { causesOf } from '../../errors/http-error.js'
import type {
  BeginOptions,
  Results,
  Runner,
  Statement,
  Values,
  ResultKind,
  ClientWriting,
  PendingWrite,
} from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import { isThenable, promise, type MaybePromise } from '../../core/maybe-promise.js'
import { clientWritesOf, requestTimeoutError } from '../../engines/client-writes.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { ChangeFeed } from '../changes/change-feed.js'
import type { Log } from '../../core/log.js'
import { defaultIsolation } from '../model/write-hooks.js'
import { GuardedRunner, Scope, type ScopeHost } from './scope.js'
import type { ReadHandlers } from './read-handlers.js'
import {
  Retries,
  checkOptions,
  refuseHigher,
  type TransactionOptions,
} from './transaction-options.js'
import type { RecordsContext } from './source.js'
import { isWrite, usesFrameworkTable } from '../../engines/contract/statement.js'
import { toUnavailable } from './client-errors.js'

/** The context of running code: its transaction, if one has begun, and its request. */
interface CallContext {
  scope: Scope | undefined
  readonly request: RequestContext | undefined
}

/** A request whose changes end with it. */
interface RequestContext {
  writing: ClientWriting | undefined
  /** Runs its changes outside transactions. */
  runner: Runner | undefined
  /** Called for each change. */
  readonly onChange: (() => void) | undefined
}

/** Reports each change that it runs. */
class ObservedRunner implements Runner {
  readonly #inner: Runner
  readonly #onChange: () => void

  constructor(inner: Runner, onChange: () => void) {
    this.#inner = inner
    this.#onChange = onChange
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (isWrite(statement)) this.#onChange()
    return this.#inner.run(statement, values, resultForm)
  }
}

/** Runs each write of a request in a transaction, if work is registered for its commit. */
class TransactionalWrites implements Runner {
  readonly #inner: Runner
  readonly #inTransaction: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>

  constructor(
    inner: Runner,
    inTransaction: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>,
  ) {
    this.#inner = inner
    this.#inTransaction = inTransaction
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (!isWrite(statement) || usesFrameworkTable(statement))
      return this.#inner.run(statement, values, resultForm)
    return this.#inTransaction(
      (runner) => runner.run(statement, values, resultForm) as MaybePromise<never>,
    )
  }
}

/** Milliseconds after a timeout response in which code that the handler left running cannot write. */
const leftOverTime = 60_000

/** Milliseconds without transactions and tracked requests after which the tracking of promises stops. */
const idleTime = 1_000

/** The context of code that belongs to no tracked request. */
interface UntrackedWork {
  /** The request whose work begins in this turn of the event loop. */
  readonly startingRequest: ClientWriting | undefined
  readonly readHandlers: ReadHandlers
}

/** A transaction that is begun and ended by separate calls. */
export interface BegunTransaction {
  runner(): Runner
  commit(): Promise<void>
  rollback(): Promise<void>
}

export class Transactions implements ScopeHost {
  readonly #context: RecordsContext
  readonly #ambient = new AsyncLocalStorage<CallContext>()
  /** Receives committed changes. */
  readonly feed: ChangeFeed
  readonly #log: Log
  readonly #untracked: UntrackedWork
  /** Work before commits, by request. Undefined until the first registration. */
  #beforeCommit: WeakMap<ClientWriting, () => Promise<void>> | undefined
  #open = 0
  /** Runs until it is clear that nothing needs the context of calls. */
  #idle: NodeJS.Timeout | undefined

  constructor(context: RecordsContext, feed: ChangeFeed, log: Log, untracked: UntrackedWork) {
    this.#context = context
    this.feed = feed
    this.#log = log
    this.#untracked = untracked
  }

  /** The transaction of the running code. It adds no overhead while none is open. */
  current(): Scope | undefined {
    if (this.#open === 0) return undefined
    const scope = this.#ambient.getStore()?.scope
    return scope === undefined || scope.isOver ? undefined : scope
  }

  /** Runs the changes of the request of the running code. Undefined without a request. */
  requestRunner(): Runner | undefined {
    const request = this.#request()
    if (request?.writing === undefined) return undefined
    if (request.runner === undefined) {
      const writes = this.writesOf(request.writing)
      request.runner =
        request.onChange === undefined ? writes : new ObservedRunner(writes, request.onChange)
    }
    return request.runner
  }

  /** Runs work in every transaction of the request that has written, right before its commit. Single writes get one. */
  beforeCommit(request: ClientWriting, work: () => Promise<void>): void {
    this.#beforeCommit ??= new WeakMap()
    this.#beforeCommit.set(request, work)
  }

  /** Whether every write of the request must be in a transaction. */
  needsTransaction(request: ClientWriting | undefined): boolean {
    return request !== undefined && this.#beforeCommit?.has(request) === true
  }

  /** Runs the statements of a request outside transactions. */
  writesOf(request: ClientWriting): Runner {
    const writes = clientWritesOf(this.#context.engine, request)
    if (!this.needsTransaction(request)) return writes
    return new TransactionalWrites(writes, (write) =>
      this.runWrite((scope) => promise(() => write(scope.runner())), undefined, request),
    )
  }

  #request(): RequestContext | undefined {
    return this.#open === 0 ? undefined : this.#ambient.getStore()?.request
  }

  /**
   * Runs a request's work. None of its changes is stored after the request's timeout, whichever repository it uses.
   */
  runForRequest<T>(writing: ClientWriting, work: () => T, onChange?: () => void): T {
    const request: RequestContext = { writing, runner: undefined, onChange }
    this.#open++
    let isOpen = true
    const leave = (): void => {
      if (!isOpen) return
      isOpen = false
      writing.writeEnded(activeWork, false)
      this.#leave()
    }
    const activeWork: PendingWrite = {
      stop: () => {
        writing.writeEnded(activeWork, false)
        isOpen = false
        setTimeout(() => {
          request.writing = undefined
          this.#leave()
        }, leftOverTime).unref()
      },
    }
    writing.writeStarted(activeWork)
    try {
      const result = this.#ambient.run({ scope: undefined, request }, work)
      if (isThenable(result)) result.then(leave, leave)
      else leave()
      return result
    } catch (error) {
      leave()
      throw error
    }
  }

  /**
   * Runs work in a transaction that loses no changes, or as a savepoint of the open transaction. After a conflict it
   * runs again.
   *
   * @param writing the client's request, if it differs from the request of the running code; nothing is stored after
   * its timeout
   * @throws {TypeError} an unknown option, or one that the outer transaction does not meet
   */
  async run<T>(
    work: (scope: Scope) => Promise<T>,
    options: TransactionOptions = {},
    writing?: ClientWriting,
  ): Promise<T> {
    checkOptions(options)
    const outer = this.current()
    if (outer !== undefined) {
      refuseHigher(options.isolation, outer.isolation, this.#context.dialect)
      return outer.nested(work)
    }
    const { isolation = defaultIsolation, timeout } = options
    return this.#runUntilDone(work, { isolation, writing }, timeout)
  }

  /**
   * As `run`, for the statements of a write.
   *
   * @param isolation the level that hooks among the statements need; undefined without hooks: the statements read
   * nothing before, or lock the rows that they read
   */
  async runWrite<T>(
    work: (scope: Scope) => Promise<T>,
    isolation?: Isolation,
    writing?: ClientWriting,
  ): Promise<T> {
    const outer = this.current()
    return outer === undefined
      ? this.#runUntilDone(work, { isolation, writing })
      : outer.nested(work)
  }

  async #runUntilDone<T>(
    work: (scope: Scope) => Promise<T>,
    { isolation, writing }: Pick<BeginOptions, 'isolation' | 'writing'> = {},
    timeout?: number,
  ): Promise<T> {
    const retries = new Retries(timeout)
    let collision: string | undefined
    for (;;) {
      try {
        return await this.#runOnce(work, { isolation, writing, waitTimeout: retries.remainingTime })
      } catch (error) {
        if (error instanceof ConcurrentInsert) {
          // The same collision again means that the row existed before and that the work still writes it.
          if (error.collision === collision || !(await retries.next())) throw error.cause
          collision = error.collision
          continue
        }
        const conflict = engineErrorOf(error)
        if (conflict?.kind !== 'conflict') throw error
        if (!(await retries.next())) throw toUnavailable(conflict)
      }
    }
  }

  /** Errors in this work cannot undo the commit. */
  async runCommitted(works: readonly (() => Promise<void>)[]): Promise<void> {
    for (const work of works) {
      try {
        await work()
      } catch (error) {
        this.#log.error({ err: error }, 'a hook after a commit failed')
      }
    }
  }

  inside<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    return this.#ambient.run({ scope, request: this.#request() }, work)
  }

  /**
   * Begins a transaction that its caller ends, such as the query builder. As with `run`, all further calls belong to
   * it. Inside an open transaction it is a savepoint. It never runs again.
   *
   * @throws {TypeError} an isolation that the outer transaction does not have
   */
  begin(isolation: Isolation | undefined): Promise<BegunTransaction> {
    const outer = this.current()
    const callContext: CallContext = { scope: undefined, request: this.#request() }
    this.#open++
    // The context is entered synchronously, so that the caller's later code stays in it.
    this.#ambient.enterWith(callContext)
    return new Promise((resolve, reject) => {
      const work = (scope: Scope): Promise<void> => {
        callContext.scope = scope
        return new Promise<void>((commit, fail) => {
          resolve({
            runner: () => scope.runner(),
            commit: () => {
              commit()
              return ended
            },
            rollback: () => {
              fail(rolledBack)
              return ended.catch((error: unknown) => {
                if (error !== rolledBack) throw error
              })
            },
          })
        })
      }
      const ended = this.#runBegun(work, isolation, outer).finally(() => {
        this.#leave()
      })
      // Where it could not begin.
      ended.catch(reject)
    })
  }

  async #runBegun(
    work: (scope: Scope) => Promise<void>,
    isolation: Isolation | undefined,
    outer: Scope | undefined,
  ): Promise<void> {
    if (outer === undefined)
      return this.#runOnce(work, { isolation }).catch((error: unknown) => {
        throw error instanceof ConcurrentInsert ? error.cause : error
      })
    refuseHigher(isolation, outer.isolation, this.#context.dialect)
    return outer.nested(work)
  }

  async #runOnce<T>(work: (scope: Scope) => Promise<T>, options: BeginOptions): Promise<T> {
    const context = this.#context
    const { startingRequest, readHandlers } = this.#untracked
    const {
      isolation,
      waitTimeout,
      writing = this.#request()?.writing ?? startingRequest,
    } = options
    const runner = await context.engine.begin({ isolation, waitTimeout, writing })
    const guarded = new GuardedRunner(runner)
    const scope = new Scope({ context, runner: guarded, transactions: this, isolation })
    this.#open++
    try {
      const result = await this.inside(scope, () => work(scope))
      guarded.assertNotFailed()
      if (writing?.isTimedOut === true) throw requestTimeoutError()
      const before = writing && this.#beforeCommit?.get(writing)
      if (before !== undefined && guarded.hasWritten) await this.inside(scope, before)
      await this.feed.send(scope.changes, runner)
      await runner.commit()
      scope.isOver = true
      scope.end(true)
      if (scope.changes.length > 0) {
        if (writing === undefined) readHandlers.changed()
        else this.#request()?.onChange?.()
      }
      this.feed.notify(scope.changes)
      if (scope.afterCommit.length > 0) await this.runCommitted(scope.afterCommit)
      return result
    } catch (error) {
      await runner.rollback()
      if (!scope.isOver) scope.end(false)
      throw this.#reasonOf(error, guarded, isolation)
    } finally {
      scope.isOver = true
      this.#leave()
    }
  }

  /**
   * Finds the database's error behind the failure of the work, even if the application has wrapped it. Only some
   * errors allow a retry.
   */
  #reasonOf(error: unknown, runner: GuardedRunner, isolation: Isolation | undefined): unknown {
    if (error === rolledBack) return error
    if (runner.conflict !== undefined) return runner.conflict
    const engineError = engineErrorOf(error)
    const isCollision = engineError?.kind === 'unique' || engineError?.kind === 'exclusion'
    if (
      !isCollision ||
      !runner.hasRead ||
      isolation === undefined ||
      isolation === 'read committed'
    )
      return error
    return this.#context.dialect.hasOneWriter ? error : new ConcurrentInsert(error, engineError)
  }

  /**
   * Tracking calls through promises slows every promise of the process, and so does switching it for each
   * request. It stops when nothing has needed it for a second.
   */
  #leave(): void {
    if (--this.#open > 0 || this.#idle !== undefined) return
    const check = (): void => {
      this.#idle = undefined
      if (this.#open === 0) this.#ambient.disable()
    }
    this.#idle = setTimeout(check, idleTime).unref()
  }
}

/** The error that ends a transaction which must be rolled back. */
const rolledBack = new Error('The transaction is rolled back.')

/**
 * A row has values of another row that was committed after this transaction began, and which it therefore could not
 * see. In a new attempt the work sees that row. It may then choose other values, or throw its own error.
 */
class ConcurrentInsert extends Error {
  /** The values that collide. */
  readonly collision: string

  constructor(cause: unknown, { constraint = '', collision = '' }: EngineError) {
    super('A concurrent transaction may have written the same values.', { cause })
    this.collision = `${constraint} ${collision}`
  }
}

/** The database's error may be the cause of an error of a repository or of the application. */
function engineErrorOf(error: unknown): EngineError | undefined {
  for (const cause of causesOf(error)) if (cause instanceof EngineError) return cause
  return undefined
}
