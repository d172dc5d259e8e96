/**
 * The primary's positions over time. A replica that has reached a position has everything that was committed before the
 * query for that position was sent. This needs no clock of a server, and an idle primary causes no lag.
 */

/** A position of the primary. */
interface PositionSample {
  /** The time in milliseconds at which the query for the position was sent. */
  readonly at: number
  readonly lsn: bigint
}

const maxSamples = 64

export class WalHistory {
  #samples: PositionSample[] = []

  /** @returns false if the position went backwards: another server responds, and the history is dropped */
  add(at: number, lsn: bigint): boolean {
    const last = this.#samples.at(-1)
    const isContinuous = last === undefined || lsn >= last.lsn
    if (!isContinuous) this.#samples = []
    // Of two samples with the same position, the later one is more precise.
    if (last?.lsn === lsn) this.#samples.pop()
    this.#samples.push({ at, lsn })
    if (this.#samples.length > maxSamples) this.#samples.shift()
    return isContinuous
  }

  /** Drops the positions of a previous server. */
  clear(): void {
    this.#samples = []
  }

  /** The time of the last sample; `-Infinity` if there is none. */
  get newest(): number {
    return this.#samples.at(-1)?.at ?? -Infinity
  }

  /** The time up to which a replica at this position has all commits; `-Infinity` if it is older than the history. */
  visibleUntil(lsn: bigint): number {
    for (let index = this.#samples.length - 1; index >= 0; index--) {
      const sample = this.#samples[index] as PositionSample
      if (sample.lsn <= lsn) return sample.at
    }
    return -Infinity
  }
}
