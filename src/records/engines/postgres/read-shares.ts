/** How many connections the reads of one request have, so that others find one. */

/** Reads of one request. */
export interface Sharing {
  /** Connections that it has now. */
  inUse: number
  readonly isOver: boolean
}

export class ReadShares {
  /** Connections that one request may have at once. */
  readonly #share: number
  /** Connections that requests may have which have one already; the others are left for who has none. */
  readonly #most: number
  #inUse = 0
  readonly #waiting = new Set<{ readonly reads: Sharing; readonly go: () => void }>()

  constructor(connections: number) {
    this.#share = Math.max(1, Math.floor(connections / 3))
    this.#most = Math.max(1, connections - this.#share)
  }

  /** Calls back once another connection may be had, at once where that is now. */
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

  /** Lets those go on who may now, in the order in which they came. */
  wake(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.reads)) continue
      this.#waiting.delete(waiting)
      this.count(waiting.reads, 1)
      waiting.go()
    }
  }

  /** What is had already counts too. */
  count(reads: Sharing, by: 1 | -1): void {
    reads.inUse += by
    this.#inUse += by
  }

  #fits(reads: Sharing): boolean {
    if (reads.inUse === 0 || reads.isOver) return true
    return reads.inUse < this.#share && this.#inUse < this.#most
  }
}
