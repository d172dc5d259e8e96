/** One writer at a time: for databases with a single writer, others wait in line. */
import { EngineFault } from './contract/engine-error.js'

export class Turn {
  /** True while somebody has the turn, or waits for it. */
  taken = false
  readonly #line = new Set<() => void>()
  readonly #patience: number

  /** @param patience milliseconds to wait before giving up */
  constructor(patience: number) {
    this.#patience = patience
  }

  /**
   * Waits for the turn; the caller must call `release` once.
   *
   * @param patience milliseconds to wait, if other than the default
   * @throws {EngineFault} (as a rejection) `unavailable` if it does not come in time; `conflict` for callers with their
   * own patience
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

  /** Runs the work during its turn, and passes the turn on. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    await this.take()
    try {
      return await work()
    } finally {
      this.release()
    }
  }
}
