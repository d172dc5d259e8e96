/**
 * Notices that other work keeps the event loop from answering in time. One long turn is not enough: waiting requests
 * are answered after it sooner than a client could retry. Two in a row are.
 */

/** Milliseconds between two looks. */
const maxCheckInterval = 250

export class Pressure {
  /** True while answers come later than the limit. */
  isOver = false
  readonly #limit: number
  #timer: NodeJS.Timeout | undefined

  /** @param limit milliseconds that a turn may be late; `Infinity` for never */
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
