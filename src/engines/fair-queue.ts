/**
 * A queue that is fair between requests. Statements are ordered by how many statements their request has already sent,
 * so that the first statement of a new request runs before the second one of any other. To prevent starvation, every
 * fourth slot goes to the oldest request.
 */

import { LinkedList, unlisted, type ListItem } from '../core/collections.js'

/** Statements after this many of one request share one priority level. */
const maxLevels = 64
/** One in this many slots goes to the oldest request. */
const slotsPerOldest = 4

interface RequestState {
  /** The order of arrival. */
  readonly sequence: number
  /** The number of statements that it has sent or queued. */
  statementsSent: number
}

interface WaitingItem<Item> extends ListItem<WaitingItem<Item>> {
  readonly item: Item
  readonly level: LinkedList<WaitingItem<Item>>
  readonly state: RequestState
}

export class FairQueue<Item extends object> {
  /** Waiting items by priority level, in order of arrival. */
  readonly #levels: LinkedList<WaitingItem<Item>>[] = []
  readonly #waiting = new WeakMap<Item, WaitingItem<Item>>()
  readonly #requests = new WeakMap<object, RequestState>()
  #size = 0
  #count = 0
  #slotsUsed = 0

  get size(): number {
    return this.#size
  }

  /** @param request the same object for all statements of one request */
  enqueue(request: object, item: Item): void {
    const state = this.#stateOf(request)
    const index = Math.min(state.statementsSent++, maxLevels - 1)
    while (this.#levels.length <= index) this.#levels.push(new LinkedList())
    const level = this.#levels[index] as LinkedList<WaitingItem<Item>>
    const waiting: WaitingItem<Item> = { item, level, state, ...unlisted }
    this.#waiting.set(item, waiting)
    level.add(waiting)
    this.#size++
  }

  /** Counts a statement that runs without waiting. */
  countSent(request: object): void {
    this.#stateOf(request).statementsSent++
  }

  /** Removes the next item and returns it. @param canRun items for which it returns false stay in the queue */
  dequeue(canRun: (item: Item) => boolean = () => true): Item | undefined {
    const isOfOldest = this.#slotsUsed % slotsPerOldest === slotsPerOldest - 1
    const item = isOfOldest ? this.#firstOfOldest(canRun) : this.#firstByLevel(canRun)
    if (item === undefined) return undefined
    this.#slotsUsed++
    this.remove(item)
    return item
  }

  #firstByLevel(canRun: (item: Item) => boolean): Item | undefined {
    for (const level of this.#levels)
      for (let waiting = level.first; waiting !== undefined; waiting = waiting.next)
        if (canRun(waiting.item)) return waiting.item
    return undefined
  }

  #firstOfOldest(canRun: (item: Item) => boolean): Item | undefined {
    let oldest: Item | undefined
    let first = Infinity
    for (const level of this.#levels)
      for (let waiting = level.first; waiting !== undefined; waiting = waiting.next) {
        const { item, state } = waiting
        if (state.sequence >= first || !canRun(item)) continue
        oldest = item
        first = state.sequence
      }
    return oldest
  }

  /** @returns false if the item was not waiting */
  remove(item: Item): boolean {
    const waiting = this.#waiting.get(item)
    if (waiting === undefined) return false
    this.#waiting.delete(item)
    waiting.level.delete(waiting)
    this.#size--
    return true
  }

  /** Empties the queue. @returns the items, the next one first */
  clear(): Item[] {
    const items = this.#levels.flatMap((level) => level.toArray().map(({ item }) => item))
    for (const item of items) this.remove(item)
    return items
  }

  #stateOf(request: object): RequestState {
    let state = this.#requests.get(request)
    if (state === undefined)
      this.#requests.set(request, (state = { sequence: this.#count++, statementsSent: 0 }))
    return state
  }
}
