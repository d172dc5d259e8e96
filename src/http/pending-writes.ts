/** The writes of a request to the database that wait or run. They are stopped when its time is over. */

/** A write that waits or runs. */
export interface StoppableWrite {
  stop(): void
}

export class PendingWrites {
  /** True after the request exceeded its time. Nothing may be written for it any more. */
  isStopped = false
  readonly #writes = new Set<StoppableWrite>()
  #onWritten: ((isDone: boolean) => void) | undefined
  #isWritten = false

  add(write: StoppableWrite): void {
    this.#writes.add(write)
  }

  /** @param isDone whether data was written */
  end(write: StoppableWrite, isDone: boolean): void {
    if (!this.#writes.delete(write) || this.#onWritten === undefined) return
    this.#isWritten ||= isDone
    if (this.#writes.size === 0) this.#onWritten(this.#isWritten)
  }

  /**
   * @param onWritten called when the outcome of running writes is known, possibly immediately, with whether anything
   * was written
   */
  stop(onWritten: (isDone: boolean) => void): void {
    this.isStopped = true
    for (const write of this.#writes) write.stop()
    if (this.#writes.size === 0) onWritten(false)
    else this.#onWritten = onWritten
  }
}
