/**
 * Shares the event loop: work that could all continue at one moment continues in slices, with other work in between.
 */

export class EventLoopSlots {
  readonly #slice: number
  readonly #waiting: (() => void)[] = []
  /** Of this turn of the loop. */
  #usedSlots = 0
  #isScheduled = false

  /** @param slice how many may go on in one turn of the loop */
  constructor(slice: number) {
    this.#slice = slice
  }

  /**
   * @returns `undefined` if the caller may continue at once; else a promise that settles in a later turn, in the order
   * of the calls
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
