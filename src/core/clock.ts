/**
 * The time that an application goes by: tokens, sessions, limits and kept answers ask it, never the system itself, so that
 * tests can move it. A provider of every application: `static inject = [Clock]`.
 */
export class Clock {
  /** True for the clock of a test, which moves it. What works in the background then waits until it is asked to. */
  readonly isMoved: boolean = false

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now()
  }

  /**
   * Milliseconds that a test has moved it on. What several processes share goes by the database's clock and by this:
   * `database.now(clock)`.
   */
  moved(): number {
    return 0
  }

  /**
   * Calls what waits for a moment when the time is moved, so that it looks again. The system's time is never moved.
   *
   * @param _watcher may return a promise
   * @returns what ends it
   */
  onMove(_watcher: () => unknown): () => void {
    return () => undefined
  }
}
