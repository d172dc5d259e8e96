/** Begins, repeats and ends transactions, and finds the transaction of the running code. */
import { causesOf } from '../../errors/http-error.js'
import type {
  BeginOptions,
  Runner,
  ClientWriting,
  PendingWrite,
} from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import { isThenable, promise } from '../../core/maybe-promise.js'
import { requestTimeoutError } from '../../engines/client-writes.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { ChangeFeed } from '../changes/change-feed.js'
import type { Log } from '../../core/log.js'
import { defaultIsolation } from '../model/write-hooks.js'
import { CallTracking, type CallContext, type WritingRequest } from './call-tracking.js'
import { Scope, type ScopeHost } from './scope.js'
import { GuardedRunner } from './transaction-runners.js'
import type { ReadHandlers } from './read-handlers.js'
import { JointCommit } from './joint-commit.js'
import { ShardWatch } from './shard-watch.js'
import {
  Deadline,
  Retries,
  defaultTime,
  checkIsolation,
  transactionOptions,
  type TransactionOptions,
} from './transaction-options.js'
import type { BegunTransaction } from './builder.js'
import type { RecordsContext } from './source.js'
import { toUnavailable } from './client-errors.js'
import { observeChanges, writeInTransactions } from './request-runners.js'

/** Milliseconds after a timeout response in which the code that it left running is recognized, so that it cannot write. */
const leftOverTime = 60_000

/** The share of a request's time for attempts after conflicts, so that there is time left to respond. */
const shareOfRequest = 0.9

/** Milliseconds by which the limit of a request may be late. It ends the transaction first. */
const requestTolerance = 3_000

/** The context of code that belongs to no tracked request. */
interface UntrackedWork {
  /** The request whose work begins in this turn of the event loop. */
  readonly startingRequest: ClientWriting | undefined
  readonly readHandlers: ReadHandlers
  /** The route of the running code, for the log. */
  readonly routeOf: () => string | undefined
}

export class Transactions implements ScopeHost {
  readonly #context: RecordsContext
  readonly #calls = new CallTracking()
  /** Receives committed changes. */
  readonly feed: ChangeFeed
  readonly #log: Log
  readonly #untracked: UntrackedWork
  /** Undefined if the database commits every transaction completely or not at all. */
  readonly #jointCommit: JointCommit | undefined
  /** The routes whose transactions over several shards are in the log. */
  readonly #warnedRoutes = new Set<string | undefined>()
  /** Work before commits, by request. Undefined until the first registration. */
  #beforeCommit: WeakMap<ClientWriting, () => Promise<void>> | undefined
  constructor(context: RecordsContext, feed: ChangeFeed, log: Log, untracked: UntrackedWork) {
    this.#context = context
    this.feed = feed
    this.#log = log
    this.#untracked = untracked
    const { engine, dialect } = context
    this.#jointCommit =
      dialect.tables.jointCommit && new JointCommit(engine, dialect.tables.jointCommit, log)
  }

  /**
   * The transaction of the running code. It adds no overhead while none is open.
   *
   * @throws {TransactionError} the code belongs to a transaction that has ended
   */
  current(): Scope | undefined {
    const scope = this.runningScope()
    scope?.checkNotOver()
    return scope
  }

  runningScope(): Scope | undefined {
    return this.#calls.current()?.scope
  }

  /** Runs the changes of the request of the running code. Undefined without a request. */
  requestRunner(): Runner | undefined {
    const request = this.#request()
    if (request?.writing === undefined) return undefined
    if (request.runner === undefined) {
      const writes = this.writesOf(request.writing)
      request.runner =
        request.onChange === undefined ? writes : observeChanges(writes, request.onChange)
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
    const writes = this.#context.engine.requests.writes(request)
    if (!this.needsTransaction(request)) return writes
    return writeInTransactions(writes, (write) =>
      this.runWrite((scope) => promise(() => write(scope.runner())), undefined, request),
    )
  }

  #request(): WritingRequest | undefined {
    return this.#calls.current()?.request
  }

  /**
   * Runs a request's work. None of its changes is stored after the request's timeout, whichever repository it uses.
   */
  runForRequest<T>(writing: ClientWriting, work: () => T, onChange?: () => void): T {
    const request: WritingRequest = { writing, runner: undefined, onChange }
    this.#calls.begin()
    let isOpen = true
    const leave = (): void => {
      if (!isOpen) return
      isOpen = false
      writing.writeEnded(activeWork, false)
      this.#calls.end()
    }
    const activeWork: PendingWrite = {
      stop: () => {
        writing.writeEnded(activeWork, false)
        isOpen = false
        setTimeout(() => {
          request.writing = undefined
          this.#calls.end()
        }, leftOverTime).unref()
      },
    }
    writing.writeStarted(activeWork)
    try {
      const result = this.#calls.run({ scope: undefined, request }, work)
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
   * its timeout, which is also the limit for the work if the options have none
   * @throws {TypeError} an unknown option, or one that the outer transaction does not meet
   * @throws {HttpError} 503 `TRANSACTION_TIMEOUT`
   */
  async run<T>(
    work: (scope: Scope) => Promise<T>,
    options: TransactionOptions = {},
    writing?: ClientWriting,
  ): Promise<T> {
    transactionOptions.check('transaction', options)
    const outer = this.current()
    if (outer !== undefined) {
      checkIsolation(options.isolation, outer.isolation, this.#context.dialect)
      return outer.nested(work, options.timeout)
    }
    const { isolation = defaultIsolation, timeout } = options
    const mustIsolate = options.isolation === 'serializable'
    if (writing === undefined) return this.#runUntilDone(work, { isolation, timeout, mustIsolate })
    const limits =
      timeout === undefined
        ? { timeout: Infinity }
        : { timeout: timeout + requestTolerance, retryTime: timeout * shareOfRequest }
    return this.#runUntilDone(work, { isolation, writing, mustIsolate, ...limits })
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
    if (outer !== undefined) return outer.nested(work)
    // Only hooks can take forever, and only outside a request, whose limit ends them.
    const isLimited = isolation !== undefined && (writing ?? this.#writing()) === undefined
    const timeout = isLimited ? defaultTime : Infinity
    return this.#runUntilDone(work, { isolation, writing, timeout })
  }

  async #runUntilDone<T>(
    work: (scope: Scope) => Promise<T>,
    { isolation, writing, timeout = defaultTime, retryTime = timeout, mustIsolate }: RunOptions,
  ): Promise<T> {
    const retries = new Retries(Number.isFinite(retryTime) ? retryTime : defaultTime)
    const deadline = new Deadline(timeout)
    let collision: string | undefined
    for (;;) {
      try {
        const waitTimeout = retries.remainingTime
        const attempt = { isolation, writing, waitTimeout, deadline, mustIsolate }
        return await this.#runOnce(work, attempt)
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
    return this.#calls.run({ scope, request: this.#request() }, work)
  }

  /**
   * Begins a transaction that its caller ends, such as the query builder. As with `run`, all further calls belong to
   * it. Inside an open transaction it is a savepoint. It never runs again, and is rolled back after the default time.
   *
   * @throws {TypeError} an isolation that the outer transaction does not have
   */
  begin(isolation: Isolation | undefined): Promise<BegunTransaction> {
    const outer = this.current()
    const outerContext = this.#calls.current()
    const callContext: CallContext = { scope: undefined, request: this.#request() }
    this.#calls.begin()
    // The context is entered synchronously, so that the caller's later code stays in it.
    this.#calls.enter(callContext)
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
      // Work after the commit does not belong to the transaction.
      const ended = this.#calls
        .run(outerContext, () => this.#runBegun(work, isolation, outer))
        .finally(() => {
          this.#calls.end()
        })
      // Where it could not begin.
      ended.catch(reject)
    })
  }

  /**
   * Runs work in the transaction of a schema change, under its lock. Everything that the work does with this database
   * belongs to it. It has no time limit, and runs again if it waited too long for a table.
   */
  async changeSchema<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    const context = this.#context
    let scope: Scope | undefined
    this.#calls.begin()
    try {
      const result = await context.engine.schema.change(
        async (runner) => {
          const guarded = new GuardedRunner(runner)
          scope = new Scope({ context, runner: guarded, transactions: this, isolation: undefined })
          return this.#runSchemaWork(scope, guarded, work)
        },
        { enforcesReferences: true },
      )
      if (scope !== undefined) {
        this.#reportCommit(scope, undefined)
        await this.runCommitted(scope.afterCommit)
      }
      return result
    } catch (error) {
      // The commit itself has failed.
      scope?.end(false)
      throw error
    } finally {
      if (scope !== undefined) this.#calls.followEnded(scope)
      this.#calls.end()
    }
  }

  async #runSchemaWork<T>(
    scope: Scope,
    guarded: GuardedRunner,
    work: (runner: Runner) => Promise<T>,
  ): Promise<T> {
    try {
      const result = await scope.run((open) => work(open.runner()))
      await scope.close()
      guarded.checkNotFailed()
      await this.feed.send(scope.changes, guarded.inner)
      return result
    } catch (error) {
      scope.abandon(error)
      scope.end(false)
      throw error
    }
  }

  async #runBegun(
    work: (scope: Scope) => Promise<void>,
    isolation: Isolation | undefined,
    outer: Scope | undefined,
  ): Promise<void> {
    if (outer === undefined)
      return this.#runOnce(work, { isolation, deadline: new Deadline(defaultTime) }).catch(
        (error: unknown) => {
          throw error instanceof ConcurrentInsert ? error.cause : error
        },
      )
    checkIsolation(isolation, outer.isolation, this.#context.dialect)
    return outer.nested(work)
  }

  async #runOnce<T>(
    work: (scope: Scope) => Promise<T>,
    { isolation, waitTimeout, deadline, mustIsolate, writing = this.#writing() }: AttemptOptions,
  ): Promise<T> {
    const context = this.#context
    const runner = await context.engine.begin({ isolation, waitTimeout, writing })
    const watch = this.#watchShards(isolation, mustIsolate)
    const guarded = new GuardedRunner(runner, watch)
    const scope = new Scope({ context, runner: guarded, transactions: this, isolation })
    const end = interruptInTime(scope, deadline, writing, () => {
      if (guarded.isBusy) runner.stop?.()
    })
    this.#calls.begin()
    let isCommitted = false
    try {
      const result = await scope.run(work)
      await scope.close()
      guarded.checkNotFailed()
      await this.#prepareCommit(scope, guarded, writing)
      await this.feed.send(scope.changes, runner)
      if (watch?.needsJointCommit === true) await this.#jointCommit?.prepare(runner)
      deadline.checkNotOver()
      await runner.commit()
      isCommitted = true
      this.#reportCommit(scope, writing)
      if (scope.afterCommit.length > 0) await this.runCommitted(scope.afterCommit)
      return result
    } catch (error) {
      if (!isCommitted) {
        scope.abandon(error)
        await runner.rollback()
        scope.end(false)
      }
      throw this.#reasonOf(error, guarded, isolation)
    } finally {
      end(isCommitted)
      this.#calls.followEnded(scope)
      this.#calls.end()
    }
  }

  /** Databases with shards may isolate only transactions within one shard. */
  #watchShards(isolation: Isolation | undefined, mustIsolate = false): ShardWatch | undefined {
    const { dialect, tables } = this.#context
    if (dialect.can.isolatesShards) return undefined
    if (isolation !== 'serializable') return new ShardWatch(tables, undefined)
    return new ShardWatch(tables, (property, [one, other]) => {
      const uses = `uses ${property} ${String(one)} and ${String(other)}, but the database isolates transactions only within one ${property}`
      if (mustIsolate)
        throw new TypeError(
          `transaction: it must be serializable and ${uses}. Use a transaction for each, or { isolation: 'repeatable read' } and lock the rows that you read.`,
        )
      const route = this.#untracked.routeOf()
      if (this.#warnedRoutes.has(route)) return
      this.#warnedRoutes.add(route)
      const where = route === undefined ? '' : ` of ${route}`
      this.#log.warn(
        { route },
        `a transaction${where} ${uses}: lock the rows that it reads, or set another isolation`,
      )
    })
  }

  /** The request of the running code. */
  #writing(): ClientWriting | undefined {
    return this.#request()?.writing ?? this.#untracked.startingRequest
  }

  async #prepareCommit(
    scope: Scope,
    guarded: GuardedRunner,
    writing: ClientWriting | undefined,
  ): Promise<void> {
    if (writing?.isTimedOut === true) throw requestTimeoutError()
    const before = writing && this.#beforeCommit?.get(writing)
    if (before !== undefined && guarded.hasWritten) await scope.runBeforeCommit(before)
  }

  #reportCommit(scope: Scope, writing: ClientWriting | undefined): void {
    scope.end(true)
    if (scope.changes.length === 0) return
    if (writing === undefined) this.#untracked.readHandlers.changed()
    else this.#request()?.onChange?.()
    this.feed.notify(scope.changes)
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
    return this.#context.dialect.can.concurrentWrites
      ? new ConcurrentInsert(error, engineError)
      : error
  }
}

interface RunOptions extends Pick<BeginOptions, 'isolation' | 'writing'> {
  /** Milliseconds for the work, with all attempts. Default `defaultTime`. */
  readonly timeout?: number | undefined
  /** Milliseconds in which another attempt may begin. Default `timeout`, or `defaultTime` if there is no limit. */
  readonly retryTime?: number | undefined
  /** Whether the program has asked for `serializable`. */
  readonly mustIsolate?: boolean
}

interface AttemptOptions extends BeginOptions, Pick<RunOptions, 'mustIsolate'> {
  readonly deadline: Deadline
}

/**
 * Interrupts the work of a transaction at its deadline, and at the timeout of its request.
 *
 * @param cancel cancels the running statement
 * @returns a function to call with the outcome when the transaction has ended
 */
function interruptInTime(
  scope: Scope,
  deadline: Deadline,
  writing: ClientWriting | undefined,
  cancel: () => void,
): (isCommitted: boolean) => void {
  const stopTimer = deadline.whenOver((error) => {
    if (scope.interrupt(error)) cancel()
  })
  const write: PendingWrite = {
    stop: () => {
      if (scope.interrupt(requestTimeoutError())) writing?.writeEnded(write, false)
    },
  }
  writing?.writeStarted(write)
  return (isCommitted) => {
    stopTimer()
    writing?.writeEnded(write, isCommitted)
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
