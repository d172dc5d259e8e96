/**
 * A queue of work that starts a few runs at a time, each in its own turn of the event loop, so that much work at once does
 * not block other requests.
 */
export class RunQueue {
  readonly #maxConcurrent: number
  readonly #due: (() => Promise<unknown>)[] = []
  #running = 0
  #isScheduled = false

  /** @param maxConcurrent the number of runs whose promise is not settled yet */
  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent
  }

  /** @param run must not throw, and its promise must not reject */
  add(run: () => Promise<unknown>): void {
    this.#due.push(run)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#maxConcurrent || this.#due.length === 0) return
    this.#isScheduled = true
    setImmediate(this.#runNext)
  }

  readonly #runNext = (): void => {
    this.#isScheduled = false
    const run = this.#due.shift()
    if (run === undefined) return
    this.#running++
    void run().finally(() => {
      this.#running--
      this.#schedule()
    })
    this.#schedule()
  }
}
