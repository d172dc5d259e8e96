/**
 * Places for work that takes long, given in turns between those who ask: somebody's next piece of work goes behind the
 * first one of anybody else, and nobody has more than a share of the places.
 */
import { FairQueue } from '../fair-queue.js'

/** Who asks: the reads of one request. */
export interface SlotHolder {
  /** The places that it has now. */
  inUse: number
  /** It wants nothing any more. */
  readonly isOver: boolean
}

/** A piece of work that waits for its place. */
interface WaitingRead {
  readonly holder: SlotHolder
  readonly start: () => void
}

export class ReadSlots {
  readonly #maxSlots: number
  readonly #maxPerHolder: number
  #inUse = 0
  readonly #queue = new FairQueue<WaitingRead>()
  readonly #waiting = new WeakMap<SlotHolder, WaitingRead[]>()

  /**
   * @param maxSlots places for all
   * @param maxPerHolder places for one of those who ask
   */
  constructor(maxSlots: number, maxPerHolder: number) {
    this.#maxSlots = Math.max(1, maxSlots)
    this.#maxPerHolder = Math.max(1, maxPerHolder)
  }

  /** Calls back when there is a place, which may be at once; never for one that leaves before. */
  acquire(holder: SlotHolder, start: () => void): void {
    if (this.#queue.size === 0 && this.#hasSlot(holder)) {
      this.#queue.countSent(holder)
      this.#begin({ holder, start })
      return
    }
    const waiting = { holder, start }
    this.#queue.enqueue(holder, waiting)
    const queued = this.#waiting.get(holder)
    if (queued === undefined) this.#waiting.set(holder, [waiting])
    else queued.push(waiting)
    // Those before it may have their share already.
    this.#startWaiting()
  }

  /** Returns a place. */
  release(holder: SlotHolder): void {
    this.count(holder, -1)
    this.#startWaiting()
  }

  /** What it waits for is not begun any more. */
  cancel(holder: SlotHolder): void {
    for (const waiting of this.#waiting.get(holder) ?? []) this.#queue.remove(waiting)
    this.#waiting.delete(holder)
  }

  /** Work that turned out to be long has a place, too, whether there is one or not. */
  count(holder: SlotHolder, by: 1 | -1): void {
    holder.inUse += by
    this.#inUse += by
  }

  #startWaiting(): void {
    while (this.#inUse < this.#maxSlots) {
      const next = this.#queue.dequeue(({ holder: taker }) => this.#hasSlot(taker))
      if (next === undefined) return
      this.#begin(next)
    }
  }

  #begin({ holder, start }: WaitingRead): void {
    this.count(holder, 1)
    start()
  }

  #hasSlot(holder: SlotHolder): boolean {
    return this.#inUse < this.#maxSlots && holder.inUse < this.#maxPerHolder
  }
}
