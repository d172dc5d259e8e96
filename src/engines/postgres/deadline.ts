/** Ends a question of our own that takes too long, as a request's reads end with the request. */
import type { ClientReading } from '../contract/client-reading.js'

export class Deadline implements ClientReading {
  isOver = false
  readonly #time: number

  /** @param time in milliseconds, from when the first question is asked */
  constructor(time: number) {
    this.#time = time
  }

  onFinished(end: () => void): void {
    setTimeout(() => {
      this.isOver = true
      end()
    }, this.#time).unref()
  }
}
