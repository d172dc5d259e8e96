/** The time of a tested application: the system's, and what the test has moved it. */
import { Clock, readSeconds } from '../../index.js'

export class TestClock extends Clock {
  override readonly isMoved = true
  #ahead = 0
  readonly #watchers = new Set<() => unknown>()

  override now(): number {
    return super.now() + this.#ahead
  }

  override moved(): number {
    return this.#ahead
  }

  /**
   * Moves the time on: tokens, sessions, limits and kept answers see it at once. The system's time and timers stay as
   * they are.
   *
   * @param time `'1h'`, `'90s'`, or seconds
   * @returns once everything that waits for the time has looked at it
   * @throws {TypeError} for what is no time
   */
  async advance(time: number | string): Promise<void> {
    const seconds = readSeconds(time)
    if (seconds === undefined) {
      throw new TypeError(
        `clock.advance: ${JSON.stringify(time)} is no time. Write '1h', '90s', or seconds.`,
      )
    }
    await this.#move(this.#ahead + seconds * 1000)
  }

  /** Sets the time; it goes on from there. */
  async set(time: Date | number | string): Promise<void> {
    const moment = new Date(time).getTime()
    if (Number.isNaN(moment)) throw new TypeError(`clock.set: ${String(time)} is no moment.`)
    await this.#move(moment - super.now())
  }

  /** Goes by the system's time again. */
  async reset(): Promise<void> {
    if (this.#ahead !== 0) await this.#move(0)
  }

  override onMove(watcher: () => unknown): () => void {
    this.#watchers.add(watcher)
    return () => {
      this.#watchers.delete(watcher)
    }
  }

  async #move(ahead: number): Promise<void> {
    this.#ahead = ahead
    for (const watcher of [...this.#watchers]) await watcher()
  }
}
