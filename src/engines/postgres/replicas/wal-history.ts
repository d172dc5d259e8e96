/**
 * The primary's positions over time. A replica that has passed a position shows everything committed before the time at
 * which that position was asked for: no server's clock is needed, and an idle primary causes no lag.
 */

interface Sample {
  /** When the question was sent, in milliseconds. */
  readonly at: number
  readonly lsn: bigint
}

const mostSamples = 64

export class WalHistory {
  #samples: Sample[] = []

  /** @returns false if the log starts again: another server answers, and the history is dropped */
  add(at: number, lsn: bigint): boolean {
    const last = this.#samples.at(-1)
    const goesOn = last === undefined || lsn >= last.lsn
    if (!goesOn) this.#samples = []
    // Of two samples with the same position the later one says more.
    if (last?.lsn === lsn) this.#samples.pop()
    this.#samples.push({ at, lsn })
    if (this.#samples.length > mostSamples) this.#samples.shift()
    return goesOn
  }

  /** The time of the last question; `-Infinity` before the first. */
  get newest(): number {
    return this.#samples.at(-1)?.at ?? -Infinity
  }

  /** The time up to which a replica at this position shows everything; `-Infinity` if that is too long ago to know. */
  shownUntil(lsn: bigint): number {
    for (let index = this.#samples.length - 1; index >= 0; index--) {
      const sample = this.#samples[index] as Sample
      if (sample.lsn <= lsn) return sample.at
    }
    return -Infinity
  }
}
