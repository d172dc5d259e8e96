/** When work that others were in the way of runs again: soon, then later, never two at the same moment, and not for ever. */
import { setTimeout } from 'node:timers/promises'

/** Milliseconds, where nobody says. As the time for handlers. */
const defaultTime = 30_000
/** With the waits below, some seconds of nothing but conflicts. */
const mostAttempts = 40
/** Milliseconds that the first wait may be long; each next one may be twice as long, up to the longest. */
const firstWait = 4
const longestWait = 120

export class Retries {
  readonly #end: number
  #attempts = 1
  #began = performance.now()
  /** Of the attempts so far. */
  #longest = 0

  /** @param time milliseconds for all attempts together */
  constructor(time = defaultTime) {
    this.#end = this.#began + time
  }

  /** Milliseconds that are left. */
  get left(): number {
    return Math.max(1, this.#end - performance.now())
  }

  /** Waits until the work may run again. @returns false where that is not worth while: it could not end in time */
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
