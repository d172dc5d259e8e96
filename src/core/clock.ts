/** The clock of an application, and timers that use it. */

/**
 * The clock of an application. Tokens, sessions, limits and caches read it instead of the system time, so that tests
 * can move it. Every application provides it: `static inject = [Clock]`.
 */
export class Clock {
  /** True for the movable clock of a test. Background work then waits until the test triggers it. */
  readonly isMoved: boolean = false

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now()
  }

  /**
   * Milliseconds by which a test has moved the clock. Processes that share data use the database's clock plus this
   * offset: `database.now(clock)`.
   */
  moved(): number {
    return 0
  }

  /**
   * Registers a watcher that runs when the clock is moved. The system clock never moves.
   *
   * @param _watcher may return a promise
   * @returns a function that removes the watcher
   */
  onMove(_watcher: () => unknown): () => void {
    return () => undefined
  }
}

/** Milliseconds between two checks. */
const every = 250

interface Expiry {
  /** Milliseconds since 1970. */
  readonly until: number
  readonly end: () => void
}

/** Ends things that expire, such as the event streams of an expired token. */
export class Expiries {
  readonly #clock: Clock
  readonly #open = new Set<Expiry>()
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param until milliseconds since 1970; `Infinity` never expires
   * @param end called once; must not throw
   * @returns a function that removes the entry
   */
  add(until: number, end: () => void): () => void {
    if (until === Infinity) return () => undefined
    const expiry = { until, end }
    this.#open.add(expiry)
    this.#stop ??= this.#start()
    return () => {
      this.#open.delete(expiry)
      if (this.#open.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  /** Starts one timer for all entries. It never keeps the process alive. */
  #start(): () => void {
    const look = (): void => {
      const now = this.#clock.now()
      for (const expiry of this.#open) {
        if (expiry.until > now) continue
        this.#open.delete(expiry)
        expiry.end()
      }
    }
    const timer = setInterval(look, every).unref()
    const stopMoves = this.#clock.onMove(look)
    return () => {
      clearInterval(timer)
      stopMoves()
    }
  }
}
