/**
 * Limits how many long reads run at the same time. Waiting clients take turns, and so do the requests of one client: the
 * next read of a request waits until each other waiting request of the client has started one. No request has more than
 * its share of the slots, and no client has all of them.
 */
import { FairQueue } from '../fair-queue.js'

/** The owner of slots: the reads of one request. */
export interface SlotHolder {
  /** The name of the request's client. Undefined for work of the framework, which has no share of its own. */
  readonly client: string | undefined
  /** The number of slots that it has. */
  inUse: number
  /** True when the request is over and needs no more slots. */
  readonly isOver: boolean
}

/** A read that waits for a slot. */
interface WaitingRead {
  readonly holder: SlotHolder
  readonly start: () => void
}

export class ReadSlots {
  readonly #maxSlots: number
  readonly #maxPerHolder: number
  readonly #maxPerClient: number
  #inUse = 0
  readonly #inUseByClient = new Map<string, number>()
  readonly #queue = new FairQueue<WaitingRead>()
  readonly #waiting = new WeakMap<SlotHolder, WaitingRead[]>()

  /**
   * @param maxSlots the number of slots
   * @param maxPerHolder the maximum number of slots of one request
   */
  constructor(maxSlots: number, maxPerHolder: number) {
    this.#maxSlots = Math.max(1, maxSlots)
    this.#maxPerHolder = Math.max(1, maxPerHolder)
    this.#maxPerClient = Math.max(1, maxSlots - 1)
  }

  /** Calls `start` when a slot is free, possibly immediately. Never calls it if the wait is cancelled before. */
  acquire(holder: SlotHolder, start: () => void): void {
    if (this.#queue.size === 0 && this.#hasSlot(holder)) {
      this.#queue.countSent(holder, holder.client)
      this.#begin({ holder, start })
      return
    }
    const waiting = { holder, start }
    this.#queue.enqueue(holder, waiting, holder.client)
    const queued = this.#waiting.get(holder)
    if (queued === undefined) this.#waiting.set(holder, [waiting])
    else queued.push(waiting)
    // The requests and clients before it may have all slots of their share.
    this.#startWaiting()
  }

  /** Releases a slot. */
  release(holder: SlotHolder): void {
    this.count(holder, -1)
    this.#startWaiting()
  }

  /** Removes its waiting reads from the queue. */
  cancel(holder: SlotHolder): void {
    for (const waiting of this.#waiting.get(holder) ?? []) this.#queue.remove(waiting)
    this.#waiting.delete(holder)
  }

  /** Counts a running read that turned out to be long, even if no slot is free. */
  count(holder: SlotHolder, by: 1 | -1): void {
    holder.inUse += by
    this.#inUse += by
    const { client } = holder
    if (client === undefined) return
    const inUse = (this.#inUseByClient.get(client) ?? 0) + by
    if (inUse > 0) this.#inUseByClient.set(client, inUse)
    else this.#inUseByClient.delete(client)
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
    const { client, inUse } = holder
    if (this.#inUse >= this.#maxSlots || inUse >= this.#maxPerHolder) return false
    return client === undefined || (this.#inUseByClient.get(client) ?? 0) < this.#maxPerClient
  }
}
