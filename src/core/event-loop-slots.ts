/**
 * Shares the event loop fairly: work that could all continue at the same time continues in slices, with other work in
 * between.
 */

export class EventLoopSlots {
  readonly #slice: number
  readonly #waiting: (() => void)[] = []
  /** Slots used in this turn of the event loop. */
  #usedSlots = 0
  #isScheduled = false

  /** @param slice number of callers that may continue in one turn of the event loop */
  constructor(slice: number) {
    this.#slice = slice
  }

  /**
   * @returns `undefined` if the caller may continue immediately; otherwise a promise that settles in a later turn, in
   * the order of the calls
   */
  take(): Promise<void> | undefined {
    this.#schedule()
    if (this.#usedSlots < this.#slice && this.#waiting.length === 0) {
      this.#usedSlots++
      return undefined
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#startNext)
  }

  readonly #startNext = (): void => {
    this.#isScheduled = false
    const next = this.#waiting.splice(0, this.#slice)
    this.#usedSlots = next.length
    if (next.length > 0) this.#schedule()
    for (const resume of next) resume()
  }
}
