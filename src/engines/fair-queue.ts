/**
 * A queue that is fair between requests. Statements are ordered by how many statements their request has already sent,
 * so that the first statement of a new request runs before the second one of any other. To prevent starvation, every
 * fourth slot goes to the oldest request.
 */

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

export class FairQueue<Item> {
  /** Waiting items by priority level, in order of arrival. */
  readonly #levels: Set<Item>[] = []
  readonly #waiting = new Map<Item, { readonly level: number; readonly state: RequestState }>()
  readonly #requests = new WeakMap<object, RequestState>()
  #count = 0
  #slotsUsed = 0

  get size(): number {
    return this.#waiting.size
  }

  /** @param request the same object for all statements of one request */
  enqueue(request: object, item: Item): void {
    const state = this.#stateOf(request)
    const level = Math.min(state.statementsSent++, maxLevels - 1)
    this.#waiting.set(item, { level, state })
    while (this.#levels.length <= level) this.#levels.push(new Set())
    this.#levels[level]?.add(item)
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
    for (const level of this.#levels) for (const item of level) if (canRun(item)) return item
    return undefined
  }

  #firstOfOldest(canRun: (item: Item) => boolean): Item | undefined {
    let oldest: Item | undefined
    let first = Infinity
    for (const [item, { state }] of this.#waiting) {
      if (state.sequence >= first || !canRun(item)) continue
      oldest = item
      first = state.sequence
    }
    return oldest
  }

  /** @returns false if the item was not waiting */
  remove(item: Item): boolean {
    const level = this.#waiting.get(item)?.level
    if (level === undefined) return false
    this.#waiting.delete(item)
    return this.#levels[level]?.delete(item) === true
  }

  /** Empties the queue. @returns the items, the next one first */
  clear(): Item[] {
    const items = this.#levels.flatMap((level) => [...level])
    for (const level of this.#levels) level.clear()
    this.#waiting.clear()
    return items
  }

  #stateOf(request: object): RequestState {
    let state = this.#requests.get(request)
    if (state === undefined)
      this.#requests.set(request, (state = { sequence: this.#count++, statementsSent: 0 }))
    return state
  }
}
