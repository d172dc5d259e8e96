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
