/**
 * All or nothing. Work inside a transaction is part of it whichever repository it goes through: the transaction travels
 * with the asynchronous calls, so that an injected repository joins the transaction of the route that calls it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  EngineFault,
  type Runner,
  type TransactionOptions,
  type TransactionRunner,
} from '../engines/engine.js'
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import type { RecordsContext, Source } from './source.js'

/** Attempts at a transaction that the database cannot fit between others. */
const mostAttempts = 4

/** An open transaction, or a part of one behind a savepoint. */
export class Scope implements Source {
  readonly context: RecordsContext
  readonly changes: RowChanges[] = []
  isOver = false
  readonly #runner: TransactionRunner
  readonly #depth: number
  readonly #transactions: Transactions
  /** Parts follow each other: savepoints are a stack. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    context: RecordsContext,
    runner: TransactionRunner,
    transactions: Transactions,
    depth = 0,
  ) {
    this.context = context
    this.#runner = runner
    this.#transactions = transactions
    this.#depth = depth
  }

  runner(): Runner {
    if (this.isOver) throw new EngineFault('other', 'The transaction is over.')
    return this.#runner
  }

  changed(changes: RowChanges): void {
    this.changes.push(changes)
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
    const name = `filigree_${this.#depth + 1}`
    const runner = this.runner()
    await runner.script(`savepoint ${name}`)
    const scope = new Scope(this.context, this.#runner, this.#transactions, this.#depth + 1)
    try {
      const result = await this.#transactions.inside(scope, () => work(scope))
      await runner.script(`release savepoint ${name}`)
      this.changes.push(...scope.changes)
      return result
    } catch (error) {
      // Where SQLite has rolled everything back by itself there is no savepoint any more: the first error counts.
      await Promise.resolve(runner.script(`rollback to savepoint ${name}`)).catch(() => undefined)
      throw error
    } finally {
      scope.isOver = true
    }
  }
}

export class Transactions {
  readonly #context: RecordsContext
  readonly #ambient = new AsyncLocalStorage<Scope>()
  /** Gets what is committed. */
  readonly feed: ChangeFeed
  #open = 0

  constructor(context: RecordsContext, feed: ChangeFeed) {
    this.#context = context
    this.feed = feed
  }

  /** The transaction that the running code is part of. Costs nothing while none is open. */
  current(): Scope | undefined {
    if (this.#open === 0) return undefined
    const scope = this.#ambient.getStore()
    return scope === undefined || scope.isOver ? undefined : scope
  }

  /** Runs work in a transaction, or in a part of the one that is open here; tries again where another was in its way. */
  async run<T>(work: (scope: Scope) => Promise<T>, options?: TransactionOptions): Promise<T> {
    const outer = this.current()
    if (outer !== undefined) return outer.nested(work)
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#runOnce(work, options)
      } catch (error) {
        if (attempt >= mostAttempts || !isConflict(error)) throw error
      }
    }
  }

  inside<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    return this.#ambient.run(scope, work)
  }

  async #runOnce<T>(
    work: (scope: Scope) => Promise<T>,
    options: TransactionOptions | undefined,
  ): Promise<T> {
    const runner = await this.#context.engine.begin(options)
    const scope = new Scope(this.#context, runner, this)
    this.#open++
    try {
      const result = await this.inside(scope, () => work(scope))
      await this.feed.send(scope.changes, runner)
      await runner.commit()
      this.feed.tell(scope.changes)
      return result
    } catch (error) {
      await runner.rollback()
      throw error
    } finally {
      scope.isOver = true
      // Following calls through promises costs every promise of the process: only while there is need.
      if (--this.#open === 0) this.#ambient.disable()
    }
  }
}

/** The fault may be wrapped in what a repository or the application made of it. */
function isConflict(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EngineFault) return cause.kind === 'conflict'
  }
  return false
}
