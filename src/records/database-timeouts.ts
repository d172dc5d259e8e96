/**
 * Asks a database for no longer than the asker can wait, and remembers that it does not answer, so that the next ones
 * need not wait at all. Source: decisions, Operations.
 */
import { promise, type MaybePromise } from '../core/maybe-promise.js'
import { HttpError } from '../errors/http-error.js'

/** Milliseconds between two attempts to reach a database that did not answer. */
const pause = 250
/** Milliseconds after which an attempt counts as failed. */
const longestAttempt = 2_000

/** What `database.timeouts(200)` gives: who asks by it waits so long at most. */
export class DatabaseTimeouts {
  readonly #within: number
  readonly #check: () => Promise<unknown>
  readonly #isClosed: () => boolean
  #isOut = false

  /** @param within milliseconds */
  constructor(within: number, check: () => Promise<unknown>, isClosed: () => boolean) {
    this.#within = within
    this.#check = check
    this.#isClosed = isClosed
  }

  /** The database did not answer in time and has not answered since; it is asked in the background. Errors are answers. */
  get isUnresponsive(): boolean {
    return this.#isOut
  }

  /**
   * Runs what asks the database. What comes later than that is dropped: a statement that was sent may still be done.
   *
   * @throws {HttpError} 503 if it takes too long, or is not asked because the one before did
   */
  run<T>(work: () => MaybePromise<T>): Promise<T> {
    if (this.#isOut) return Promise.reject(silence())
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        // After what has arrived meanwhile: a process that was busy itself has no reason to complain.
        setImmediate(() => {
          if (isSettled) return
          this.#lose()
          reject(silence())
        })
      }, this.#within)
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

  #lose(): void {
    if (this.#isOut) return
    this.#isOut = true
    void this.#return()
  }

  async #return(): Promise<void> {
    while (!this.#isClosed()) {
      if (await this.#answers()) break
      await new Promise((resolve) => setTimeout(resolve, pause).unref())
    }
    this.#isOut = false
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, longestAttempt, false).unref()
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

function silence(): HttpError {
  return new HttpError(503, 'The database is not available at the moment.', {
    code: 'DATABASE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    reason: 'it did not answer in time',
  })
}
