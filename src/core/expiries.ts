/** Ends what is good until a moment, such as the streams of a token that runs out. */
import type { Clock } from './clock.js'

/** Milliseconds between two looks. */
const every = 250

interface Expiry {
  /** Milliseconds since 1970. */
  readonly until: number
  readonly end: () => void
}

export class Expiries {
  readonly #clock: Clock
  readonly #open = new Set<Expiry>()
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param until milliseconds since 1970; `Infinity` never ends
   * @param end called once. Must not throw
   * @returns forgets it
   */
  add(until: number, end: () => void): () => void {
    if (until === Infinity) return () => undefined
    const expiry = { until, end }
    this.#open.add(expiry)
    this.#stop ??= this.#start()
    return () => {
      this.#open.delete(expiry)
      if (this.#open.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  /** One timer for all, while there are any; it never keeps a process alive. */
  #start(): () => void {
    const look = (): void => {
      const now = this.#clock.now()
      for (const expiry of this.#open) {
        if (expiry.until > now) continue
        this.#open.delete(expiry)
        expiry.end()
      }
    }
    const timer = setInterval(look, every).unref()
    const stopMoves = this.#clock.onMove(look)
    return () => {
      clearInterval(timer)
      stopMoves()
    }
  }
}
