/**
 * Who is next where statements of many requests wait for few threads or connections: a request's first statement goes before
 * everybody's second, its tenth behind another's first. For every engine:
 * - `add(request, statement)` once it must wait; `next()` whenever a thread or connection is free;
 * - `pass(request)` for a statement that need not wait: the request's next one is its second all the same;
 * - `drop(statement)` when its caller has left: it frees its turn at once, whoever waits behind it.
 * A request with few statements so waits for one statement of each other request at most, however many those ask.
 */

/** Statements beyond this one of a request are all alike. */
const mostRounds = 64

export class StatementTurns<Item> {
  /** Those that wait, by how many of their request came before them; in the order in which they came. */
  readonly #rounds: Set<Item>[] = []
  readonly #roundOf = new Map<Item, number>()
  /** How many statements a request has asked for. */
  readonly #asked = new WeakMap<object, number>()

  get size(): number {
    return this.#roundOf.size
  }

  /** @param owner the request, the same object for all of its statements */
  add(owner: object, item: Item): void {
    const before = this.pass(owner)
    const round = Math.min(before, mostRounds - 1)
    this.#roundOf.set(item, round)
    while (this.#rounds.length <= round) this.#rounds.push(new Set())
    this.#rounds[round]?.add(item)
  }

  /** One that need not wait counts before its request's next. @returns how many came before it */
  pass(owner: object): number {
    const before = this.#asked.get(owner) ?? 0
    this.#asked.set(owner, before + 1)
    return before
  }

  /**
   * Takes the next one out.
   *
   * @param fits whether it may go now; those that may not keep their place
   */
  next(fits: (item: Item) => boolean = () => true): Item | undefined {
    for (const round of this.#rounds) {
      for (const item of round) {
        if (!fits(item)) continue
        this.drop(item)
        return item
      }
    }
    return undefined
  }

  /** @returns whether it waited */
  drop(item: Item): boolean {
    const round = this.#roundOf.get(item)
    if (round === undefined) return false
    this.#roundOf.delete(item)
    return this.#rounds[round]?.delete(item) === true
  }

  /** Takes all out, the next one first. */
  clear(): Item[] {
    const items = this.#rounds.flatMap((round) => [...round])
    for (const round of this.#rounds) round.clear()
    this.#roundOf.clear()
    return items
  }
}
