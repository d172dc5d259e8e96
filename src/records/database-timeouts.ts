/**
 * Limits how long callers wait for a database, and remembers that it is unresponsive, so that later callers fail
 * immediately. Source: decisions, Operations.
 */
import { promise, type MaybePromise } from '../core/maybe-promise.js'
import { HttpError } from '../errors/http-error.js'

/** Milliseconds between two checks of an unresponsive database. */
const pause = 250
/** Milliseconds after which a check counts as failed. */
const checkTimeout = 2_000

/** A timeout with a circuit breaker, created by `database.timeouts(200)`: work waits no longer than this time. */
export class DatabaseTimeouts {
  readonly #milliseconds: number
  readonly #check: () => Promise<unknown>
  readonly #isClosed: () => boolean
  #isUnresponsive = false

  /**
   * @param milliseconds the timeout
   * @param check queries the database
   */
  constructor(milliseconds: number, check: () => Promise<unknown>, isClosed: () => boolean) {
    this.#milliseconds = milliseconds
    this.#check = check
    this.#isClosed = isClosed
  }

  /**
   * True after the database has not responded in time, until a check in the background gets a response. An error counts
   * as a response.
   */
  get isUnresponsive(): boolean {
    return this.#isUnresponsive
  }

  /**
   * Runs work that queries the database. A result after the timeout is dropped, although a statement that was sent
   * may still take effect.
   *
   * @throws {HttpError} 503 after the timeout, or immediately while the database is unresponsive
   */
  run<T>(work: () => MaybePromise<T>): Promise<T> {
    if (this.#isUnresponsive) return Promise.reject(unavailable())
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        // Results that have arrived meanwhile are handled first, so that a busy process does not blame the database.
        setImmediate(() => {
          if (isSettled) return
          this.#startChecks()
          reject(unavailable())
        })
      }, this.#milliseconds)
      let isSettled = false
      const settle = (): void => {
        isSettled = true
        clearTimeout(timer)
      }
      promise(work).then(
        (value) => {
          settle()
          resolve(value)
        },
        (error: unknown) => {
          settle()
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown goes on as it is
          reject(error)
        },
      )
    })
  }

  #startChecks(): void {
    if (this.#isUnresponsive) return
    this.#isUnresponsive = true
    void this.#checkUntilResponsive()
  }

  async #checkUntilResponsive(): Promise<void> {
    while (!this.#isClosed()) {
      if (await this.#responds()) break
      await new Promise((resolve) => setTimeout(resolve, pause).unref())
    }
    this.#isUnresponsive = false
  }

  #responds(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, checkTimeout, false).unref()
      this.#check().then(
        () => {
          clearTimeout(timer)
          resolve(true)
        },
        () => {
          clearTimeout(timer)
          resolve(false)
        },
      )
    })
  }
}

function unavailable(): HttpError {
  return new HttpError(503, 'The database is not available at the moment.', {
    code: 'DATABASE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    reason: 'the database did not respond in time',
  })
}
