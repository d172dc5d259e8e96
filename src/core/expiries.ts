/** The clock of an application, and timers that use it. */
import type { Clock } from './clock.js'

/** Milliseconds between two checks. */
const every = 250

interface Expiry {
  /** Milliseconds since 1970. */
  readonly until: number
  readonly end: () => void
}

/** Ends things that expire, such as the event streams of an expired token. */
export class Expiries {
  readonly #clock: Clock
  readonly #open = new Set<Expiry>()
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param until milliseconds since 1970; `Infinity` never expires
   * @param end called once; must not throw
   * @returns a function that removes the entry
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

  /** Starts one timer for all entries. It never keeps the process alive. */
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
