/**
 * Places for work that takes long, given in turns between those who ask: somebody's next piece of work goes behind the first
 * one of anybody else, and nobody has more than a share of the places.
 */

/** Who asks: the reads of one request. */
export interface TurnTaker {
  /** The places that it has now. */
  inUse: number
  /** It wants nothing any more. */
  readonly isOver: boolean
}

export class ReadTurns {
  readonly #most: number
  readonly #mostOfOne: number
  #inUse = 0
  /** Those who wait for their first place, and those who had one before; each group in turns. */
  readonly #first = new Map<TurnTaker, (() => void)[]>()
  readonly #next = new Map<TurnTaker, (() => void)[]>()
  readonly #served = new WeakSet<TurnTaker>()

  /**
   * @param most places for all
   * @param mostOfOne places for one of those who ask
   */
  constructor(most: number, mostOfOne: number) {
    this.#most = Math.max(1, most)
    this.#mostOfOne = Math.max(1, mostOfOne)
  }

  /** Calls back when there is a place, which may be at once; never for one that leaves before. */
  take(taker: TurnTaker, go: () => void): void {
    const isTurn = this.#first.size === 0 && (this.#next.size === 0 || !this.#served.has(taker))
    if (isTurn && this.#fits(taker)) {
      this.#begin(taker, go)
      return
    }
    const line = this.#served.has(taker) ? this.#next : this.#first
    const waiting = line.get(taker)
    if (waiting === undefined) line.set(taker, [go])
    else waiting.push(go)
    // Those before it may have their share already.
    this.#wake()
  }

  /** Returns a place. */
  free(taker: TurnTaker): void {
    this.count(taker, -1)
    this.#wake()
  }

  /** What it waits for is not begun any more. */
  leave(taker: TurnTaker): void {
    this.#first.delete(taker)
    this.#next.delete(taker)
  }

  /** Work that turned out to be long has a place, too, whether there is one or not. */
  count(taker: TurnTaker, by: 1 | -1): void {
    taker.inUse += by
    this.#inUse += by
  }

  #wake(): void {
    while (this.#wakeOne(this.#first) || this.#wakeOne(this.#next));
  }

  #wakeOne(line: Map<TurnTaker, (() => void)[]>): boolean {
    if (this.#inUse >= this.#most) return false
    for (const [taker, waiting] of line) {
      if (!this.#fits(taker)) continue
      const go = waiting.shift()
      line.delete(taker)
      if (waiting.length > 0) this.#next.set(taker, waiting)
      if (go !== undefined) this.#begin(taker, go)
      return true
    }
    return false
  }

  #begin(taker: TurnTaker, go: () => void): void {
    this.#served.add(taker)
    this.count(taker, 1)
    go()
  }

  #fits(taker: TurnTaker): boolean {
    return this.#inUse < this.#most && taker.inUse < this.#mostOfOne
  }
}
