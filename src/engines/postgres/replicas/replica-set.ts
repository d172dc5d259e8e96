/**
 * Selects the server for a read. Each replica is asked regularly for its position; one that is further behind than the
 * bound, or behind the caller's own writes, is skipped, and if none is left the primary answers.
 */

import type { Log } from '../../../core/log.js'
import type { CurrentCaller, EngineCaller, OtherProcesses } from '../../contract/request-context.js'
import type { ReplicaState } from '../../contract/engine.js'
import type { Position, Replica } from './replica.js'

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
type Needed = bigint | 'everything'

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

/**
 * The primary's positions over time. A replica that has passed a position shows everything committed before the time at
 * which that position was asked for: no server's clock is needed, and an idle primary causes no lag.
 */

interface Sample {
  /** When the question was sent, in milliseconds. */
  readonly at: number
  readonly lsn: bigint
}

const mostSamples = 64

export class WalHistory {
  #samples: Sample[] = []

  /** @returns false if the log starts again: another server answers, and the history is dropped */
  add(at: number, lsn: bigint): boolean {
    const last = this.#samples.at(-1)
    const goesOn = last === undefined || lsn >= last.lsn
    if (!goesOn) this.#samples = []
    // Of two samples with the same position the later one says more.
    if (last?.lsn === lsn) this.#samples.pop()
    this.#samples.push({ at, lsn })
    if (this.#samples.length > mostSamples) this.#samples.shift()
    return goesOn
  }

  /** The time of the last question; `-Infinity` before the first. */
  get newest(): number {
    return this.#samples.at(-1)?.at ?? -Infinity
  }

  /** The time up to which a replica at this position shows everything; `-Infinity` if that is too long ago to know. */
  shownUntil(lsn: bigint): number {
    for (let index = this.#samples.length - 1; index >= 0; index--) {
      const sample = this.#samples[index] as Sample
      if (sample.lsn <= lsn) return sample.at
    }
    return -Infinity
  }
}

export interface ReplicaSetParts {
  readonly replicas: readonly Replica[]
  /** Asks the primary for its position. */
  readonly askPrimary: () => Promise<Position>
  readonly closePrimary: () => void
  /** How many milliseconds a replica may be behind. */
  readonly bound: number
  readonly log: Log
}

/** After so many milliseconds without a read the servers are not asked until the next one. */
const restsAfter = 60_000
/** The shortest time, in milliseconds, for which writes are remembered: replicas within the bound show them sooner. */
const leastMemory = 5000

/** The name for writes without a caller: of jobs and programs. */
const ownNames: readonly string[] = ['']

export class ReplicaSet {
  readonly #parts: ReplicaSetParts
  readonly #history = new WalHistory()
  readonly #marks: WriteMarks
  readonly #interval: number
  #caller: CurrentCaller = () => undefined
  #others: OtherProcesses | undefined
  #stopHearing: (() => void) | undefined
  #isPrimaryUp = false
  #usedAt = performance.now()
  #isResting = true
  #next = 0
  /** Incremented when asking starts; earlier rounds end. */
  #round = 0
  readonly #timers = new Set<NodeJS.Timeout>()
  #isClosed = false

  constructor(parts: ReplicaSetParts) {
    this.#parts = parts
    this.#interval = Math.min(1000, Math.max(20, parts.bound / 4))
    this.#marks = new WriteMarks(Math.max(leastMemory, 2 * parts.bound))
  }

  /** Asks all servers once, and continues to ask. */
  async start(): Promise<void> {
    await this.#askPrimary()
    await Promise.all(this.#parts.replicas.map((replica) => this.#askReplica(replica)))
    this.#goOn()
  }

  followCallers(caller: CurrentCaller, others?: OtherProcesses): void {
    this.#caller = caller
    this.#others = others
    this.#stopHearing?.()
    this.#stopHearing = others?.onTold((names) => {
      this.#marks.add(names, performance.now())
    })
  }

  /** @returns the replica for this read; `undefined` for the primary */
  choose(): Replica | undefined {
    const now = performance.now()
    this.#usedAt = now
    if (this.#isResting) this.#goOn()
    const caller = this.#caller()
    if (caller !== undefined && (caller.isFresh || caller.hasWritten)) return undefined
    const needed = this.#marks.needed(caller?.names ?? ownNames, now)
    if (needed === 'everything') return undefined
    // Without a primary there are no writes: replicas that were up to date when it was lost stay usable.
    const since = (this.#isPrimaryUp ? now : this.#history.newest) - this.#parts.bound
    return this.#leastBusy(needed, since)
  }

  /** @returns a replica that was up to date when the primary was lost; `undefined` while the primary answers */
  standIn(): Replica | undefined {
    if (this.#isPrimaryUp) return undefined
    return this.#leastBusy(0n, this.#history.newest - this.#parts.bound)
  }

  /** A write has ended, successfully or not: from now on its caller must see it. */
  wrote(): void {
    const caller: EngineCaller | undefined = this.#caller()
    this.#marks.add(caller?.ownNames ?? ownNames, performance.now())
    if (caller === undefined) return
    caller.hasWritten = true
    this.#others?.tell(caller.ownNames)
  }

  /** How the connections of each are used; one that was never reached has none. */
  get states(): readonly ReplicaState[] {
    return this.#parts.replicas.map(({ name, isUp, engine }) => {
      const { most = 0, open = 0, idle = 0, waiting = 0 } = engine?.pool?.() ?? {}
      return { name, isUp, most, open, idle, waiting }
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopHearing?.()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#parts.closePrimary()
    await Promise.all(this.#parts.replicas.map((replica) => replica.close()))
  }

  #leastBusy(needed: bigint, since: number): Replica | undefined {
    const { replicas } = this.#parts
    let best: Replica | undefined
    // Equally busy ones take turns.
    const first = this.#next++
    for (let index = 0; index < replicas.length; index++) {
      const replica = replicas[(first + index) % replicas.length] as Replica
      if (!replica.isUp || replica.lsn < needed || replica.shownUntil < since) continue
      if (best === undefined || replica.running < best.running) best = replica
    }
    return best
  }

  async #askPrimary(): Promise<void> {
    const at = performance.now()
    const open = this.#marks.open
    try {
      const { lsn } = await this.#parts.askPrimary()
      if (!this.#history.add(at, lsn)) this.#parts.log.warn({}, anotherPrimary)
      this.#marks.settle(open, lsn)
      this.#isPrimaryUp = true
      for (const replica of this.#parts.replicas) this.#measure(replica)
    } catch {
      // The next statement on the primary will show what is wrong.
      this.#isPrimaryUp = false
    }
  }

  async #askReplica(replica: Replica): Promise<void> {
    if (await replica.look()) this.#measure(replica)
  }

  #measure(replica: Replica): void {
    replica.shownUntil = this.#history.shownUntil(replica.lsn)
  }

  #goOn(): void {
    if (this.#isClosed) return
    this.#isResting = false
    const round = ++this.#round
    this.#repeat(round, () => this.#askPrimary())
    for (const replica of this.#parts.replicas) this.#repeat(round, () => this.#askReplica(replica))
  }

  #repeat(round: number, ask: () => Promise<void>): void {
    if (this.#isClosed || round !== this.#round) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#isResting ||= performance.now() - this.#usedAt > restsAfter
      if (this.#isResting || round !== this.#round) return
      void ask().then(() => {
        this.#repeat(round, ask)
      })
    }, this.#interval)
    this.#timers.add(timer.unref())
  }
}

const anotherPrimary =
  'the primary of the database is another one now: replicas are read again once they follow it'
