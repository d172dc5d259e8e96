/** One at a time: a database with one writer lets the others wait in line. */
import { EngineFault } from '../engines/engine.js'

export class Turn {
  /** Somebody has it, or is in line for it. */
  taken = false
  readonly #line = new Set<() => void>()
  readonly #patience: number

  /** @param patience milliseconds in line until it is given up */
  constructor(patience: number) {
    this.#patience = patience
  }

  /**
   * Waits for the turn; whoever gets it calls `release` once.
   *
   * @param patience milliseconds in line, where this one has its own
   * @throws {EngineFault} `unavailable` when it does not come in time (a rejection); `conflict` for one with a patience of
   * its own, which others have used up
   */
  take(patience?: number): Promise<void> {
    if (!this.taken) {
      this.taken = true
      return Promise.resolve()
    }
    const most = patience ?? this.#patience
    return new Promise((resolve, reject) => {
      const called = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#line.delete(called)
        const kind = patience === undefined ? 'unavailable' : 'conflict'
        reject(new EngineFault(kind, `Waited ${most} ms for another transaction.`))
      }, most)
      this.#line.add(called)
    })
  }

  release(): void {
    for (const next of this.#line) {
      this.#line.delete(next)
      next()
      return
    }
    this.taken = false
  }

  /** Runs with the turn, and passes it on. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    await this.take()
    try {
      return await work()
    } finally {
      this.release()
    }
  }
}
