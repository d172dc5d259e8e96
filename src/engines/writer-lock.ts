/** One writer at a time: for databases with a single writer, others wait in line. */
import { EngineError } from './contract/engine-error.js'

export class WriterLock {
  /** True while somebody has the turn, or waits for it. */
  isHeld = false
  readonly #queue = new Set<() => void>()
  readonly #timeout: number

  /** @param timeout milliseconds to wait before giving up */
  constructor(timeout: number) {
    this.#timeout = timeout
  }

  /**
   * Waits for the turn; the caller must call `release` once.
   *
   * @param timeout milliseconds to wait, if other than the default
   * @throws {EngineError} (as a rejection) `unavailable` if it does not come in time; `conflict` for callers with their
   * own patience
   */
  acquire(timeout?: number): Promise<void> {
    if (!this.isHeld) {
      this.isHeld = true
      return Promise.resolve()
    }
    const milliseconds = timeout ?? this.#timeout
    return new Promise((resolve, reject) => {
      const onAcquired = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#queue.delete(onAcquired)
        const kind = timeout === undefined ? 'unavailable' : 'conflict'
        reject(new EngineError(kind, `Waited ${milliseconds} ms for another transaction.`))
      }, milliseconds)
      this.#queue.add(onAcquired)
    })
  }

  release(): void {
    for (const next of this.#queue) {
      this.#queue.delete(next)
      next()
      return
    }
    this.isHeld = false
  }

  /** Runs the work during its turn, and passes the turn on. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    await this.acquire()
    try {
      return await work()
    } finally {
      this.release()
    }
  }
}
