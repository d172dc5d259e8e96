/**
 * Places for work that takes long, given in turns between those who ask: somebody's next piece of work goes behind the first
 * one of anybody else, and nobody has more than a share of the places.
 */
import { StatementTurns } from '../fair-queue.js'

/** Who asks: the reads of one request. */
export interface TurnTaker {
  /** The places that it has now. */
  inUse: number
  /** It wants nothing any more. */
  readonly isOver: boolean
}

/** A piece of work that waits for its place. */
interface Waiting {
  readonly taker: TurnTaker
  readonly go: () => void
}

export class ReadTurns {
  readonly #most: number
  readonly #mostOfOne: number
  #inUse = 0
  readonly #line = new StatementTurns<Waiting>()
  readonly #waiting = new WeakMap<TurnTaker, Waiting[]>()

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
    if (this.#line.size === 0 && this.#fits(taker)) {
      this.#line.pass(taker)
      this.#begin({ taker, go })
      return
    }
    const waiting = { taker, go }
    this.#line.add(taker, waiting)
    const others = this.#waiting.get(taker)
    if (others === undefined) this.#waiting.set(taker, [waiting])
    else others.push(waiting)
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
    for (const waiting of this.#waiting.get(taker) ?? []) this.#line.drop(waiting)
    this.#waiting.delete(taker)
  }

  /** Work that turned out to be long has a place, too, whether there is one or not. */
  count(taker: TurnTaker, by: 1 | -1): void {
    taker.inUse += by
    this.#inUse += by
  }

  #wake(): void {
    while (this.#inUse < this.#most) {
      const next = this.#line.next(({ taker }) => this.#fits(taker))
      if (next === undefined) return
      this.#begin(next)
    }
  }

  #begin({ taker, go }: Waiting): void {
    this.count(taker, 1)
    go()
  }

  #fits(taker: TurnTaker): boolean {
    return this.#inUse < this.#most && taker.inUse < this.#mostOfOne
  }
}
