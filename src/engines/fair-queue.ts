/**
 * Who is next where statements of many requests wait for few threads or connections: a request's first statement goes before
 * everybody's second, its tenth behind another's first. For every engine:
 * - `add(request, statement)` once it must wait; `next()` whenever a thread or connection is free;
 * - `pass(request)` for a statement that need not wait: the request's next one is its second all the same;
 * - `drop(statement)` when its caller has left: it frees its turn at once, whoever waits behind it.
 * A request with few statements so waits for one statement of each other request at most, however many those ask. Where more
 * first statements come than can be run, nothing would ever end that way: every fourth turn is the oldest request's.
 */

/** Statements beyond this one of a request are all alike. */
const maxLevels = 64
/** Every so many turns one goes to the request that began first. */
const slotsPerOldest = 4

/** What is known of a request, and of what waits for it. */
interface RequestState {
  /** Requests are counted as they come. */
  readonly sequence: number
  /** How many statements it has asked for. */
  statementsSent: number
}

export class FairQueue<Item> {
  /** Those that wait, by how many of their request came before them; in the order in which they came. */
  readonly #levels: Set<Item>[] = []
  readonly #waiting = new Map<Item, { readonly level: number; readonly state: RequestState }>()
  readonly #requests = new WeakMap<object, RequestState>()
  #count = 0
  #slotsUsed = 0

  get size(): number {
    return this.#waiting.size
  }

  /** @param request the request, the same object for all of its statements */
  enqueue(request: object, item: Item): void {
    const state = this.#stateOf(request)
    const level = Math.min(state.statementsSent++, maxLevels - 1)
    this.#waiting.set(item, { level, state })
    while (this.#levels.length <= level) this.#levels.push(new Set())
    this.#levels[level]?.add(item)
  }

  /** One that need not wait counts before its request's next. */
  countSent(request: object): void {
    this.#stateOf(request).statementsSent++
  }

  /**
   * Takes the next one out.
   *
   * @param canRun whether it may go now; those that may not keep their place
   */
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

  /** @returns whether it waited */
  remove(item: Item): boolean {
    const level = this.#waiting.get(item)?.level
    if (level === undefined) return false
    this.#waiting.delete(item)
    return this.#levels[level]?.delete(item) === true
  }

  /** Takes all out, the next one first. */
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
