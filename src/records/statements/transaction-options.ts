/** The options of `transaction`: its isolation from other transactions, and its time limit. */

import { setTimeout as pause } from 'node:timers/promises'
import { HttpError } from '../../errors/http-error.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { isolations, type Isolation } from '../../core/transaction.js'

/** The default time of a transaction in milliseconds, the same as for handlers. */
export const defaultTime = 30_000
/** The longest time of a timer in milliseconds. Longer limits are only checked before the commit. */
const longestTimer = 2 ** 31 - 1
/** With the waits below, this is some seconds of conflicts. */
const maxAttempts = 40
/** The longest first wait in milliseconds; each next one may be twice as long, up to the longest. */
const firstWait = 4
const longestWait = 120

/** Decides when conflicting work runs again: after growing, random delays, within its time. */
export class Retries {
  readonly #end: number
  #attempts = 1
  #attemptStart = performance.now()
  /** The longest attempt so far. */
  #longest = 0

  /** @param time milliseconds for all attempts together */
  constructor(time = defaultTime) {
    this.#end = this.#attemptStart + time
  }

  /** The remaining milliseconds. */
  get remainingTime(): number {
    return Math.max(1, this.#end - performance.now())
  }

  /** Waits until the work may run again. @returns false if it could not end in time */
  async next(): Promise<boolean> {
    this.#longest = Math.max(this.#longest, performance.now() - this.#attemptStart)
    const maxWait = Math.min(longestWait, firstWait * 2 ** (this.#attempts - 1))
    const wait = Math.random() * maxWait
    if (this.#attempts >= maxAttempts || wait + this.#longest >= this.remainingTime) return false
    this.#attempts++
    await pause(wait)
    this.#attemptStart = performance.now()
    return true
  }
}

/** The time limit for the work of a transaction. */
export class Deadline {
  readonly #timeout: number
  readonly #end: number

  /** @param timeout milliseconds from now; `Infinity` for no limit */
  constructor(timeout: number) {
    this.#timeout = timeout
    this.#end = performance.now() + timeout
  }

  /** @throws {HttpError} 503 `TRANSACTION_TIMEOUT` */
  checkNotOver(): void {
    if (performance.now() >= this.#end) throw this.#error()
  }

  /** Calls the function with the error when the time is over. @returns a function that prevents the call */
  whenOver(onOver: (error: HttpError) => void): () => void {
    const milliseconds = Math.max(1, this.#end - performance.now())
    if (milliseconds > longestTimer) return () => undefined
    const timer = setTimeout(() => {
      onOver(this.#error())
    }, milliseconds)
    return () => {
      clearTimeout(timer)
    }
  }

  #error(): HttpError {
    const time = this.#timeout.toLocaleString('en')
    return new HttpError(
      503,
      `The transaction took longer than ${time} ms, its timeout. It is rolled back.`,
      {
        code: 'TRANSACTION_TIMEOUT',
        headers: { 'retry-after': '1' },
        reason: 'set a longer time: database.transaction(work, { timeout })',
      },
    )
  }
}

export const transactionOptions = declareOptions({
  /**
   * How far the transaction is isolated from concurrent ones. Default `serializable`: the result is as if the
   * transactions ran one after the other, so a rule that reads rows and then writes holds without a lock. `repeatable
   * read`: rows stay as they were first read, and no update is lost, but two transactions may each read what the other
   * one writes. `read committed`: a statement sees what others committed before it, so a change between a read and a
   * write can be lost, unless the read has `{ lock: true }`. SQLite has one writer, so every level is serializable.
   */
  isolation: option.oneOf(...isolations).shown(),
  /**
   * Milliseconds for the work, with all attempts after conflicts. Then everything is rolled back and the call throws,
   * even if the work never ends. `Infinity` for no limit. Default 30,000.
   */
  timeout: option
    .of<number>((value) => Number(value) > 0, 'Give milliseconds above 0, or Infinity.')
    .shown(),
})

export interface TransactionOptions extends OptionsOf<typeof transactionOptions> {}

/**
 * A savepoint has the isolation of its transaction.
 *
 * @throws {TypeError} the options require a higher level
 */
export function checkIsolation(
  requested: Isolation | undefined,
  open: Isolation | undefined,
  { can }: Pick<Dialect, 'can'>,
): void {
  if (requested === undefined || !can.concurrentWrites) return
  const level = open === undefined ? 0 : isolations.indexOf(open)
  if (isolations.indexOf(requested) <= level) return
  throw new TypeError(
    `transaction: it is part of one that is ${open ?? 'read committed'}, so it cannot be ${requested}. Set it on the outer one, or on the route: { transaction: '${requested}' }.`,
  )
}
