/**
 * Ends work that would not end by itself when the application closes: event streams, and handlers that use
 * `request.signal`. Source: docs/configuration.md, "Shutdown".
 */

/** @param all true to end handlers that are still running too, false for responses that have begun only */
export type End = (all: boolean) => void

export class Ending {
  readonly #ends = new Set<End>()
  #phase: 'running' | 'ending streams' | 'ending all' = 'running'

  /** Calls the function when the application closes, or immediately if it is closing already. */
  add(end: End): void {
    this.#ends.add(end)
    if (this.#phase !== 'running') end(this.#phase === 'ending all')
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
    this.#phase = 'ending streams'
    // Subscriptions send `complete` themselves, in this turn of the event loop.
    setImmediate(() => {
      this.#call(false)
    })
    const endAll = (): void => {
      this.#phase = 'ending all'
      this.#call(true)
    }
    if (after === 0) endAll()
    else setTimeout(endAll, after).unref()
  }

  #call(all: boolean): void {
    for (const end of [...this.#ends]) end(all)
  }
}
