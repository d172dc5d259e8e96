/**
 * Begins, repeats and ends transactions, and knows which one the running code is in. It follows asynchronous calls, so that
 * an injected repository joins the transaction of the route that calls it.
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
} from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import { isThenable, promise, type MaybePromise } from '../../core/maybe-promise.js'
import { clientWritesOf, requestTimeoutError } from '../../engines/client-writes.js'
import type { ClientWriting, PendingWrite } from '../../engines/contract/request-context.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { ChangeFeed } from '../changes/change-feed.js'
import type { Log } from '../../core/log.js'
import { defaultIsolation } from '../model/write-hooks.js'
import { GuardedRunner } from './guarded-runner.js'
import type { ReadHandlers } from './read-handlers.js'
import {
  Retries,
  checkOptions,
  refuseHigher,
  type TransactionOptions,
} from './transaction-options.js'
import { Scope, type ScopeHost } from './scope.js'
import type { RecordsContext } from './source.js'
import { isWrite, usesFrameworkTable } from '../../engines/contract/statement.js'
import { toUnavailable } from './client-errors.js'

/** Where code runs: in this transaction, once it has begun, and for this request. */
interface CallContext {
  scope: Scope | undefined
  readonly request: RequestContext | undefined
}

/** A request, as long as its changes end with it. */
interface RequestContext {
  writing: ClientWriting | undefined
  /** Runs its changes outside transactions. */
  runner: Runner | undefined
  /** Called for each change. */
  readonly onChange: (() => void) | undefined
}

/** Tells of each change that it runs. */
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

/** Runs each write of a request in a transaction, where work is registered that belongs to its commit. */
class TransactionalWrites implements Runner {
  readonly #inner: Runner
  readonly #together: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>

  constructor(
    inner: Runner,
    together: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>,
  ) {
    this.#inner = inner
    this.#together = together
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (!isWrite(statement) || usesFrameworkTable(statement))
      return this.#inner.run(statement, values, resultForm)
    return this.#together(
      (runner) => runner.run(statement, values, resultForm) as MaybePromise<never>,
    )
  }
}

/** Milliseconds in which what a handler has left running writes nothing after its request was answered for its time. */
const leftOverTime = 60_000

/** Milliseconds without transactions and followed requests after which calls are not followed through promises any more. */
const idleTime = 1_000

/** What is known of code that belongs to no request that is followed. */
interface Beginning {
  /** The request whose work begins in this turn. */
  readonly served: ClientWriting | undefined
  readonly quiet: ReadHandlers
}

/** A transaction that calls begin and end. */
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
  readonly #beginning: Beginning
  /** By request; undefined until the first is registered. */
  #beforeCommit: WeakMap<ClientWriting, () => Promise<void>> | undefined
  #open = 0
  /** Runs while it is not known yet whether anything needs the context of calls. */
  #idle: NodeJS.Timeout | undefined

  constructor(context: RecordsContext, feed: ChangeFeed, log: Log, beginning: Beginning) {
    this.#context = context
    this.feed = feed
    this.#log = log
    this.#beginning = beginning
  }

  /** The transaction of the running code. Costs nothing while none is open. */
  current(): Scope | undefined {
    if (this.#open === 0) return undefined
    const scope = this.#ambient.getStore()?.scope
    return scope === undefined || scope.isOver ? undefined : scope
  }

  /** Runs the changes of the request that the running code belongs to; undefined where it belongs to none. */
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
      this.together((scope) => promise(() => write(scope.runner())), undefined, request),
    )
  }

  #request(): RequestContext | undefined {
    return this.#open === 0 ? undefined : this.#ambient.getStore()?.request
  }

  /** Runs a request's work: none of its changes is done once the request's time is over, whichever repository it uses. */
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
   * Runs work in a transaction that loses no changes, or as a part of the one that is open. After a conflict it runs
   * again.
   *
   * @param writing the client's request, if it is not that of the running code: nothing is kept once its time is over
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
   * The same for the statements of a write.
   *
   * @param isolation what the hooks that run among them need; undefined without hooks: the statements read nothing before,
   * or lock what they read
   */
  async together<T>(
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
        if (error instanceof Overtaken) {
          // The same values again: the row was there before, and the work writes it all the same.
          if (error.collision === collision || !(await retries.next())) throw error.cause
          collision = error.collision
          continue
        }
        const conflict = faultOf(error)
        if (conflict?.kind !== 'conflict') throw error
        if (!(await retries.next())) throw toUnavailable(conflict)
      }
    }
  }

  /** The commit stands, whatever fails afterwards. */
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
   * Begins a transaction that its caller ends, such as the query builder: all that is called from here on belongs to it,
   * as with `run`. It is a part of the one that is open, and never runs again.
   *
   * @throws {TypeError} an isolation that the outer transaction does not have
   */
  begin(isolation: Isolation | undefined): Promise<BegunTransaction> {
    const outer = this.current()
    const callContext: CallContext = { scope: undefined, request: this.#request() }
    this.#open++
    // Now, in the caller's own turn, so that what it awaits keeps the place.
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
        throw error instanceof Overtaken ? error.cause : error
      })
    refuseHigher(isolation, outer.isolation, this.#context.dialect)
    return outer.nested(work)
  }

  async #runOnce<T>(work: (scope: Scope) => Promise<T>, options: BeginOptions): Promise<T> {
    const context = this.#context
    const { served, quiet } = this.#beginning
    const {
      isolation,
      waitTimeout: patience,
      writing = this.#request()?.writing ?? served,
    } = options
    const runner = await context.engine.begin({ isolation, waitTimeout: patience, writing })
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
        if (writing === undefined) quiet.changed()
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

  /** Why the work failed, whatever the application has made of it: only after some faults can it run again. */
  #reasonOf(error: unknown, runner: GuardedRunner, isolation: Isolation | undefined): unknown {
    if (error === rolledBack) return error
    if (runner.conflict !== undefined) return runner.conflict
    const fault = faultOf(error)
    const isCollision = fault?.kind === 'unique' || fault?.kind === 'exclusion'
    if (
      !isCollision ||
      !runner.hasRead ||
      isolation === undefined ||
      isolation === 'read committed'
    )
      return error
    return this.#context.dialect.hasOneWriter ? error : new Overtaken(error, fault)
  }

  /**
   * Following calls through promises slows every promise of the process down, and so does switching it on and off for each
   * request. It is switched off when nothing has needed it for a second.
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

/** Why a transaction ends that was to be rolled back. */
const rolledBack = new Error('The transaction is rolled back.')

/**
 * A row has values that another row has too, which the transaction could not see if it was committed since it began: with it
 * in sight the work may find other values, or refuse in its own words.
 */
class Overtaken extends Error {
  /** What collides. */
  readonly collision: string

  constructor(cause: unknown, { constraint = '', collision = '' }: EngineError) {
    super('A concurrent transaction may have written the same values.', { cause })
    this.collision = `${constraint} ${collision}`
  }
}

/** The fault may be the cause of a repository's or application's error. */
function faultOf(error: unknown): EngineError | undefined {
  for (const cause of causesOf(error)) if (cause instanceof EngineError) return cause
  return undefined
}
