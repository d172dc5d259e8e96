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
const mostRounds = 64
/** Every so many turns one goes to the request that began first. */
const turnsOfRounds = 4

/** What is known of a request, and of what waits for it. */
interface Asker {
  /** Requests are counted as they come. */
  readonly place: number
  /** How many statements it has asked for. */
  asked: number
}

export class StatementTurns<Item> {
  /** Those that wait, by how many of their request came before them; in the order in which they came. */
  readonly #rounds: Set<Item>[] = []
  readonly #waiting = new Map<Item, { readonly round: number; readonly asker: Asker }>()
  readonly #askers = new WeakMap<object, Asker>()
  #count = 0
  #turns = 0

  get size(): number {
    return this.#waiting.size
  }

  /** @param owner the request, the same object for all of its statements */
  add(owner: object, item: Item): void {
    const asker = this.#askerOf(owner)
    const round = Math.min(asker.asked++, mostRounds - 1)
    this.#waiting.set(item, { round, asker })
    while (this.#rounds.length <= round) this.#rounds.push(new Set())
    this.#rounds[round]?.add(item)
  }

  /** One that need not wait counts before its request's next. */
  pass(owner: object): void {
    this.#askerOf(owner).asked++
  }

  /**
   * Takes the next one out.
   *
   * @param fits whether it may go now; those that may not keep their place
   */
  next(fits: (item: Item) => boolean = () => true): Item | undefined {
    const isOfOldest = this.#turns % turnsOfRounds === turnsOfRounds - 1
    const item = isOfOldest ? this.#ofOldest(fits) : this.#ofRounds(fits)
    if (item === undefined) return undefined
    this.#turns++
    this.drop(item)
    return item
  }

  #ofRounds(fits: (item: Item) => boolean): Item | undefined {
    for (const round of this.#rounds) for (const item of round) if (fits(item)) return item
    return undefined
  }

  #ofOldest(fits: (item: Item) => boolean): Item | undefined {
    let oldest: Item | undefined
    let first = Infinity
    for (const [item, { asker }] of this.#waiting) {
      if (asker.place >= first || !fits(item)) continue
      oldest = item
      first = asker.place
    }
    return oldest
  }

  /** @returns whether it waited */
  drop(item: Item): boolean {
    const round = this.#waiting.get(item)?.round
    if (round === undefined) return false
    this.#waiting.delete(item)
    return this.#rounds[round]?.delete(item) === true
  }

  /** Takes all out, the next one first. */
  clear(): Item[] {
    const items = this.#rounds.flatMap((round) => [...round])
    for (const round of this.#rounds) round.clear()
    this.#waiting.clear()
    return items
  }

  #askerOf(owner: object): Asker {
    let asker = this.#askers.get(owner)
    if (asker === undefined) this.#askers.set(owner, (asker = { place: this.#count++, asked: 0 }))
    return asker
  }
}
