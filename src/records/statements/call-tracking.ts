/**
 * Tracks asynchronous calls, so that an injected repository joins the transaction of the route that calls it, and so that code
 * which runs on after the end of its transaction or request is recognized.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientWriting, Runner } from '../../engines/contract/engine.js'
import type { Scope } from './scope.js'

/** The context of running code: its transaction, if one has begun, and its request. */
export interface CallContext {
  scope: Scope | undefined
  readonly request: WritingRequest | undefined
}

/** A request whose changes stop at its timeout. */
export interface WritingRequest {
  writing: ClientWriting | undefined
  /** Runs its changes outside transactions. */
  runner: Runner | undefined
  /** Called for each change. */
  readonly onChange: (() => void) | undefined
}

/**
 * Milliseconds after the end of a transaction in which code that it left running is recognized. Node 20 and 22 follow code
 * by hooks that slow every promise of the process, so there it is recognized for five seconds. Since Node 24 it costs
 * nothing.
 */
const endedTransactionTime = hasPromiseHooks() ? 5_000 : Infinity

function hasPromiseHooks(): boolean {
  const { bun, deno, node } = process.versions
  return bun === undefined && deno === undefined && Number.parseInt(node, 10) < 24
}

/** Milliseconds without transactions and tracked requests after which the tracking of promises stops. */
const idleTime = 1_000

export class CallTracking {
  readonly #contexts = new AsyncLocalStorage<CallContext | undefined>()
  /** The number of transactions and requests that have not ended. */
  #openCalls = 0
  /** True while calls are followed through promises. */
  #isTracking = false
  /** By `performance.now`: until when code of ended transactions is followed. */
  #trackedUntil = 0
  /** The number of ended transactions to which a promise, a timer or another object may still lead. */
  #reachableTransactions = 0
  readonly #collected = new FinalizationRegistry(() => {
    this.#reachableTransactions--
  })
  /** Runs until it is clear that nothing needs the context of calls. */
  #idle: NodeJS.Timeout | undefined

  /** The context of the running code. It adds no overhead while nothing is tracked. */
  current(): CallContext | undefined {
    return this.#isTracking ? this.#contexts.getStore() : undefined
  }

  /** Runs work and everything that it calls in a context. */
  run<T>(context: CallContext | undefined, work: () => T): T {
    return this.#contexts.run(context, work)
  }

  /** Continues the running code in a context. */
  enter(context: CallContext): void {
    this.#contexts.enterWith(context)
  }

  /** Recognizes code that an ended transaction has left running. */
  followEnded(scope: Scope): void {
    this.#trackedUntil = performance.now() + endedTransactionTime
    this.#reachableTransactions++
    this.#collected.register(scope, undefined)
  }

  /** Begins work that is tracked: a transaction, or a request whose changes stop at its timeout. */
  begin(): void {
    this.#openCalls++
    this.#isTracking = true
  }

  /**
   * Ends work that is tracked.
   *
   * Tracking calls through promises slows every promise of the process, and so does switching it for each
   * request. It stops when nothing has needed it for a second, and no code of an ended transaction can run any more: the
   * garbage collector has found nothing that leads to one, or `endedTransactionTime` is over.
   */
  end(): void {
    if (--this.#openCalls > 0 || this.#idle !== undefined) return
    const check = (): void => {
      this.#idle = undefined
      if (this.#openCalls > 0) return
      const remaining = this.#trackedUntil - performance.now()
      if (this.#reachableTransactions > 0 && remaining > 0)
        this.#idle = setTimeout(check, Math.min(idleTime, remaining)).unref()
      else {
        this.#isTracking = false
        this.#contexts.disable()
      }
    }
    this.#idle = setTimeout(check, idleTime).unref()
  }
}
