/**
 * What ends when the application closes, since it would not end by itself: event streams, and handlers that heed
 * `request.signal`. Source: docs/configuration.md, "The end".
 */

/** @param all false for answers that have begun alone, true for handlers that are still at work too */
export type End = (all: boolean) => void

export class Ending {
  readonly #ends = new Set<End>()
  #has: 'begun' | 'come' | undefined

  /** Calls it when the application closes; where it is closing already, at once. */
  add(end: End): void {
    this.#ends.add(end)
    if (this.#has !== undefined) end(this.#has === 'come')
  }

  delete(end: End): void {
    this.#ends.delete(end)
  }

  /**
   * Ends what flows without an end now, and after a while what is still at work.
   *
   * @param after milliseconds
   */
  begin(after: number): void {
    this.#has = 'begun'
    // Subscriptions say `complete` by themselves, and that is written in this turn.
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
