/**
 * Ends work that would not end by itself when the application closes: event streams, and handlers that use
 * `request.signal`. Source: docs/configuration.md, "Shutdown".
 */

/** @param all false for responses that have begun only, true also for handlers that are still running */
export type End = (all: boolean) => void

export class Ending {
  readonly #ends = new Set<End>()
  #has: 'begun' | 'come' | undefined

  /** Calls the function when the application closes, or immediately if it is closing already. */
  add(end: End): void {
    this.#ends.add(end)
    if (this.#has !== undefined) end(this.#has === 'come')
  }

  delete(end: End): void {
    this.#ends.delete(end)
  }

  /**
   * Ends endless streams now, and unfinished work after a while.
   *
   * @param after milliseconds
   */
  begin(after: number): void {
    this.#has = 'begun'
    // Subscriptions send `complete` themselves, in this turn.
    setImmediate(() => {
      this.#call(false)
    })
    const complete = (): void => {
      this.#has = 'come'
      this.#call(true)
    }
    if (after === 0) complete()
    else setTimeout(complete, after).unref()
  }

  #call(all: boolean): void {
    for (const end of [...this.#ends]) end(all)
  }
}
