/** Measures the delay of the event loop over the last seconds. */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'

/** Milliseconds between two measurements of the histogram. */
const resolution = 20
/** Milliseconds for which a delay counts. */
const window = 5000

export class LoopDelay {
  readonly #most: number
  #histogram: IntervalHistogram | undefined
  #since = 0

  /** @param most the largest delay that is acceptable, in milliseconds */
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

  /** False if it was delayed too long since the last call, or in the last seconds. */
  isFine(): boolean {
    const histogram = this.#histogram
    if (histogram === undefined) return true
    // Nanoseconds between two measurements.
    const worst = histogram.max / 1e6 - resolution
    if (performance.now() - this.#since > window) {
      histogram.reset()
      this.#since = performance.now()
    }
    return worst <= this.#most
  }
}
