/**
 * Remembers callers' writes by a later position of the primary's log, so that callers do not read from replicas before that
 * position. The position is not read with each write: the next position that is read anyway is after all earlier writes.
 */

/** The write of a caller. */
interface Mark {
  /** A position of the primary's log after the write. Undefined until the position is next read. */
  lsn: bigint | undefined
  /** In milliseconds. Afterwards every usable replica has the write. */
  readonly until: number
}

/** A caller must see all writes before a position, or everything. */
type RequiredPosition = bigint | 'everything'

export class WriteMarks {
  readonly #marks = new Map<string, Mark>()
  #open: Mark[] = []
  /** The latest write of callers that were dropped because there were too many. All callers must see it. */
  #floor: Mark = { lsn: 0n, until: -Infinity }
  readonly #maxCallers: number
  readonly #lifetime: number

  /**
   * @param lifetime milliseconds for which a write is remembered
   * @param maxCallers the number of callers that are remembered individually
   */
  constructor(lifetime: number, maxCallers = 10_000) {
    this.#lifetime = lifetime
    this.#maxCallers = maxCallers
  }

  /** Remembers a write that has ended, successfully or not. */
  add(names: readonly string[], now: number): void {
    const mark: Mark = { lsn: undefined, until: now + this.#lifetime }
    this.#open.push(mark)
    for (const name of names) {
      // The last write comes after the earlier ones.
      this.#marks.delete(name)
      this.#marks.set(name, mark)
    }
    this.#forget(now)
  }

  /** The number of marks without a position. Positions that are read later are after their writes. */
  get open(): number {
    return this.#open.length
  }

  /** Sets the position of the first `count` open marks. */
  settle(count: number, lsn: bigint): void {
    for (const mark of this.#open.splice(0, count)) mark.lsn = lsn
  }

  requiredPosition(names: readonly string[], now: number): RequiredPosition {
    let requiredPosition: RequiredPosition = requiredByMark(this.#floor, now)
    for (const name of names) {
      const mark = this.#marks.get(name)
      if (mark === undefined) continue
      const more = requiredByMark(mark, now)
      if (more === 'everything' || requiredPosition === 'everything')
        requiredPosition = 'everything'
      else if (more > requiredPosition) requiredPosition = more
    }
    return requiredPosition
  }

  get size(): number {
    return this.#marks.size
  }

  /** Removes expired marks, and the oldest ones above the maximum. */
  #forget(now: number): void {
    for (const [name, mark] of this.#marks) {
      if (mark.until > now) {
        if (this.#marks.size <= this.#maxCallers) return
        if (mark.until >= this.#floor.until) this.#floor = mark
      }
      this.#marks.delete(name)
    }
  }
}

function requiredByMark(mark: Mark, now: number): RequiredPosition {
  if (mark.until <= now) return 0n
  return mark.lsn ?? 'everything'
}
