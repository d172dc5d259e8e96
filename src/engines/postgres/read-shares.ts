/** Limits how many connections the reads of one request use, so that others find one. */

/** The reads of one request. */
export interface Sharing {
  /** The number of connections that they use now. */
  inUse: number
  readonly isOver: boolean
}

export class ReadShares {
  /** The most connections of one request. */
  readonly #share: number
  /** The most connections of requests with more than one; the others are reserved for requests that have none. */
  readonly #most: number
  #inUse = 0
  readonly #waiting = new Set<{ readonly reads: Sharing; readonly go: () => void }>()

  constructor(connections: number) {
    this.#share = Math.max(1, Math.floor(connections / 3))
    this.#most = Math.max(1, connections - this.#share)
  }

  /** Calls back when another connection may be used, which may be at once. */
  take(reads: Sharing, go: () => void): void {
    if (!this.#fits(reads)) {
      this.#waiting.add({ reads, go })
      return
    }
    this.count(reads, 1)
    go()
  }

  giveBack(reads: Sharing): void {
    this.count(reads, -1)
    this.wake()
  }

  /** Lets waiting reads continue that now may, in their order. */
  wake(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.reads)) continue
      this.#waiting.delete(waiting)
      this.count(waiting.reads, 1)
      waiting.go()
    }
  }

  /** Connections that are in use count as well. */
  count(reads: Sharing, by: 1 | -1): void {
    reads.inUse += by
    this.#inUse += by
  }

  #fits(reads: Sharing): boolean {
    if (reads.inUse === 0 || reads.isOver) return true
    return reads.inUse < this.#share && this.#inUse < this.#most
  }
}
