/**
 * Where the primary was, and when. A replica that has come past a position shows all that was committed before the moment
 * at which that position was asked for: no clock of a server is needed, and an idle primary is no lag.
 */

interface Sample {
  /** Milliseconds, when the question was sent. */
  readonly at: number
  readonly lsn: bigint
}

const mostSamples = 64

export class WalHistory {
  #samples: Sample[] = []

  /** @returns false where the log begins anew: another server answers, and what was known is forgotten */
  add(at: number, lsn: bigint): boolean {
    const last = this.#samples.at(-1)
    const goesOn = last === undefined || lsn >= last.lsn
    if (!goesOn) this.#samples = []
    // The later moment of one position says more.
    if (last?.lsn === lsn) this.#samples.pop()
    this.#samples.push({ at, lsn })
    if (this.#samples.length > mostSamples) this.#samples.shift()
    return goesOn
  }

  /** The moment that was asked about last; `-Infinity` before the first. */
  get newest(): number {
    return this.#samples.at(-1)?.at ?? -Infinity
  }

  /** The moment up to which a replica at this position shows everything; `-Infinity` where that is too long ago to know. */
  shownUntil(lsn: bigint): number {
    for (let index = this.#samples.length - 1; index >= 0; index--) {
      const sample = this.#samples[index] as Sample
      if (sample.lsn <= lsn) return sample.at
    }
    return -Infinity
  }
}
