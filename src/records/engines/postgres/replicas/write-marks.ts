/**
 * What callers have written, by the position of the primary's log behind it: a replica before that position is not read
 * by them. The position is not asked for with each write: the next one that the primary tells stands behind all before.
 */

interface Mark {
  /** Undefined until the primary was asked behind the write. */
  lsn: bigint | undefined
  /** Milliseconds, from when on every replica that is read shows it. */
  readonly until: number
}

/** What a caller must see: everything, or what was written before a position. */
export type Needed = bigint | 'everything'

export class WriteMarks {
  readonly #marks = new Map<string, Mark>()
  #open: Mark[] = []
  /** Of callers that were forgotten for lack of room: all must see it. */
  #floor: Mark = { lsn: 0n, until: -Infinity }
  readonly #most: number
  readonly #lasts: number

  /** @param lasts milliseconds. @param most callers that are remembered one by one */
  constructor(lasts: number, most = 10_000) {
    this.#lasts = lasts
    this.#most = most
  }

  /** Remembers a write that has ended, whatever came of it. */
  add(names: readonly string[], now: number): void {
    const mark: Mark = { lsn: undefined, until: now + this.#lasts }
    this.#open.push(mark)
    for (const name of names) {
      // What was written last is behind what was written before.
      this.#marks.delete(name)
      this.#marks.set(name, mark)
    }
    this.#forget(now)
  }

  /** Marks without a position. Those that are there before the primary is asked are behind it. */
  get open(): number {
    return this.#open.length
  }

  /** Gives the first of the open marks the position that the primary has told. */
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

  /** Oldest first: what is over, and what there is no room for. */
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
