/** Decides when conflicting work runs again: with growing, random delays, and not for ever. */
import { setTimeout } from 'node:timers/promises'

/** The default time in milliseconds, the same as for handlers. */
const defaultTime = 30_000
/** With the waits below, this is some seconds of conflicts. */
const mostAttempts = 40
/** The longest first wait in milliseconds; each next one may be twice as long, up to the longest. */
const firstWait = 4
const longestWait = 120

export class Retries {
  readonly #end: number
  #attempts = 1
  #began = performance.now()
  /** The longest attempt so far. */
  #longest = 0

  /** @param time milliseconds for all attempts together */
  constructor(time = defaultTime) {
    this.#end = this.#began + time
  }

  /** The milliseconds that are left. */
  get left(): number {
    return Math.max(1, this.#end - performance.now())
  }

  /** Waits until the work may run again. @returns false if it could not end in time */
  async next(): Promise<boolean> {
    this.#longest = Math.max(this.#longest, performance.now() - this.#began)
    const most = Math.min(longestWait, firstWait * 2 ** (this.#attempts - 1))
    const wait = Math.random() * most
    if (this.#attempts >= mostAttempts || wait + this.#longest >= this.left) return false
    this.#attempts++
    await setTimeout(wait)
    this.#began = performance.now()
    return true
  }
}
