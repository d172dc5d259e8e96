/** How late the event loop was in the last seconds. */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'

/** Milliseconds between two looks of the histogram. */
const resolution = 20
/** Milliseconds that a delay counts. */
const window = 5000

export class LoopDelay {
  readonly #most: number
  #histogram: IntervalHistogram | undefined
  #since = 0

  /** @param most milliseconds that are no fault */
  constructor(most: number) {
    this.#most = most
  }

  start(): void {
    this.#histogram = monitorEventLoopDelay({ resolution })
    this.#histogram.enable()
    this.#since = performance.now()
  }

  stop(): void {
    this.#histogram?.disable()
    this.#histogram = undefined
  }

  /** False where it was late for too long since somebody asked, or in the last seconds. */
  isFine(): boolean {
    const histogram = this.#histogram
    if (histogram === undefined) return true
    // Nanoseconds, from one look to the next.
    const worst = histogram.max / 1e6 - resolution
    if (performance.now() - this.#since > window) {
      histogram.reset()
      this.#since = performance.now()
    }
    return worst <= this.#most
  }
}
