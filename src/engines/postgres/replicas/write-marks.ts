/**
 * Remembers callers' writes by the position of the primary's log after them: callers do not read from replicas before
 * that position. The position is not asked for with each write: the next one that the primary tells is after all
 * earlier writes.
 */

interface Mark {
  /** Undefined until the primary was asked after the write. */
  lsn: bigint | undefined
  /** In milliseconds: from then on every usable replica shows it. */
  readonly until: number
}

/** What a caller must see: everything, or all writes before a position. */
export type Needed = bigint | 'everything'

export class WriteMarks {
  readonly #marks = new Map<string, Mark>()
  #open: Mark[] = []
  /** For callers that were dropped for lack of room: everybody must see their writes. */
  #floor: Mark = { lsn: 0n, until: -Infinity }
  readonly #most: number
  readonly #lasts: number

  /** @param lasts milliseconds. @param most the number of callers that are remembered individually */
  constructor(lasts: number, most = 10_000) {
    this.#lasts = lasts
    this.#most = most
  }

  /** Remembers a write that has ended, successfully or not. */
  add(names: readonly string[], now: number): void {
    const mark: Mark = { lsn: undefined, until: now + this.#lasts }
    this.#open.push(mark)
    for (const name of names) {
      // The last write comes after the earlier ones.
      this.#marks.delete(name)
      this.#marks.set(name, mark)
    }
    this.#forget(now)
  }

  /** The number of marks without a position. A position that is asked for later is after them. */
  get open(): number {
    return this.#open.length
  }

  /** Gives the first open marks the position that the primary has told. */
  settle(count: number, lsn: bigint): void {
    for (const mark of this.#open.splice(0, count)) mark.lsn = lsn
  }

  needed(names: readonly string[], now: number): Needed {
    let needed: Needed = neededOf(this.#floor, now)
    for (const name of names) {
      const mark = this.#marks.get(name)
      if (mark === undefined) continue
      const more = neededOf(mark, now)
      if (more === 'everything' || needed === 'everything') needed = 'everything'
      else if (more > needed) needed = more
    }
    return needed
  }

  get size(): number {
    return this.#marks.size
  }

  /** The oldest first: those that are over, and those for which there is no room. */
  #forget(now: number): void {
    for (const [name, mark] of this.#marks) {
      if (mark.until > now) {
        if (this.#marks.size <= this.#most) return
        if (mark.until >= this.#floor.until) this.#floor = mark
      }
      this.#marks.delete(name)
    }
  }
}

function neededOf(mark: Mark, now: number): Needed {
  if (mark.until <= now) return 0n
  return mark.lsn ?? 'everything'
}
