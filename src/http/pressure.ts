/** Measures whether the event loop is overloaded, so that requests are refused before they wait in vain. */

/** Milliseconds between two checks. */
const maxCheckInterval = 250

/** Measures whether the event loop is overloaded. */
export class Pressure {
  /**
   * True while the event loop lags by more than the limit in two checks in a row. After a single long turn, waiting
   * requests are served sooner than a client could retry.
   */
  isOver = false
  readonly #limit: number
  #timer: NodeJS.Timeout | undefined

  /** @param limit maximum delay of the event loop in milliseconds; `Infinity` disables the check */
  constructor(limit: number) {
    this.#limit = limit
  }

  start(): void {
    if (this.#timer !== undefined || this.#limit === Infinity) return
    const every = Math.max(10, Math.min(maxCheckInterval, this.#limit))
    let due = performance.now() + every
    let wasOverdue = false
    this.#timer = setInterval(() => {
      const now = performance.now()
      const isOverdue = now - due > this.#limit
      this.isOver = isOverdue && wasOverdue
      wasOverdue = isOverdue
      due = now + every
    }, every).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.isOver = false
  }
}
