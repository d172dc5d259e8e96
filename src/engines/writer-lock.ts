/** A lock for databases with a single writer. Other writers wait in a queue. */
import { LinkedList, unlisted, type ListItem } from '../core/collections.js'
import { EngineError } from './contract/engine-error.js'

interface LockWaiter extends ListItem<LockWaiter> {
  readonly onAcquired: () => void
}

export class WriterLock {
  /** True while a writer has the lock. */
  isHeld = false
  readonly #queue = new LinkedList<LockWaiter>()
  readonly #timeout: number

  /** @param timeout milliseconds to wait before giving up */
  constructor(timeout: number) {
    this.#timeout = timeout
  }

  /**
   * Acquires the lock. The caller must call `release` once.
   *
   * @param timeout milliseconds to wait, if other than the default
   * @throws {EngineError} (as a rejection) after the timeout: `unavailable` for the default one, `conflict` for the
   * caller's own
   */
  acquire(timeout?: number): Promise<void> {
    if (!this.isHeld) {
      this.isHeld = true
      return Promise.resolve()
    }
    const milliseconds = timeout ?? this.#timeout
    return new Promise((resolve, reject) => {
      const waiter: LockWaiter = {
        onAcquired: () => {
          clearTimeout(timer)
          resolve()
        },
        ...unlisted,
      }
      const timer = setTimeout(() => {
        this.#queue.delete(waiter)
        const kind = timeout === undefined ? 'unavailable' : 'conflict'
        reject(new EngineError(kind, `Waited ${milliseconds} ms for another transaction.`))
      }, milliseconds)
      this.#queue.add(waiter)
    })
  }

  release(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.isHeld = false
    else next.onAcquired()
  }

  /** Runs work while it has the lock, and releases the lock afterwards. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    await this.acquire()
    try {
      return await work()
    } finally {
      this.release()
    }
  }
}
