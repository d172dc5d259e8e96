/**
 * The line of runs that are due: a few at a time, each in a turn of the event loop of its own, so that what changes many
 * answers at once holds up nobody else. An answer stands in the line once.
 */

/** Runs that may wait for a database at a time. */
const most = 4

export class LiveRuns {
  readonly #due: (() => Promise<void>)[] = []
  #running = 0
  #isScheduled = false

  add(run: () => Promise<void>): void {
    this.#due.push(run)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running >= most || this.#due.length === 0) return
    this.#isScheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#isScheduled = false
    const run = this.#due.shift()
    if (run === undefined) return
    this.#running++
    void run().finally(() => {
      this.#running--
      this.#schedule()
    })
    this.#schedule()
  }
}
