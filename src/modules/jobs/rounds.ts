/**
 * A round stores what has succeeded and takes what there is room for, by one statement; what it has taken begins in the same
 * turn. Nothing is fetched ahead, so that a kill holds up only what was running. Rounds follow one another: what ends
 * during a round belongs to the next one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Limits } from './limits.js'
import type { Running } from './places.js'
import type { KnownJob } from './registry.js'
import type { Runs } from './runs.js'
import type { Room, Taken } from './stored-job.js'
import { heads, turn } from './take-rows.js'
import type { Workplace } from './workplace.js'

export interface RoundsParts {
  readonly workplace: Workplace
  readonly worker: string
  readonly runs: Runs
  readonly limits: Limits
  /** Something was taken: leases are to be renewed. */
  readonly began: () => void
  readonly wakeIn: (ms: number) => void
  /** Runs work outside of the job that has ended: the next one must not inherit its context. */
  readonly outside: <T>(work: () => T) => T
}

/** Milliseconds until a round is tried again that had something to store. */
const again = 1_000

export class Rounds {
  readonly #parts: RoundsParts
  #ended: Running[] = []
  #isSet = false
  #current: Promise<void> | undefined
  #round: Promise<true | undefined> | undefined
  #isAskedAgain = false
  /** Without, rounds only store. */
  takes = false
  /** How many runs were begun so far. */
  begun = 0

  constructor(parts: RoundsParts) {
    this.#parts = parts
  }

  /** A run has succeeded: all that end in one turn are stored together. */
  ended(running: Running): void {
    this.#ended.push(running)
    if (this.#isSet || this.#current !== undefined) return
    this.#isSet = true
    this.#parts.outside(() => setImmediate(this.#store))
  }

  readonly #store = (): void => {
    this.#isSet = false
    void this.next()
  }

  /** Runs a round, or another one behind that which runs. */
  next(): Promise<void> {
    if (this.#current !== undefined) {
      this.#isAskedAgain = true
      return this.#current
    }
    this.#current = this.#all()
    return this.#current
  }

  /** Resolves once the round that is under way has begun what it takes. */
  async settled(): Promise<void> {
    await this.#round
  }

  async #all(): Promise<void> {
    do {
      this.#isAskedAgain = false
      this.#round = this.#parts.workplace.guard(() => this.#run())
      const isDone = await this.#round
      if (isDone !== undefined) continue
      if (this.#ended.length === 0) break
      await sleep(again, undefined, { ref: false })
    } while (this.#isWanted())
    // In the same turn as the last question: what is asked for from here on begins anew.
    this.#current = undefined
  }

  #isWanted(): boolean {
    return this.#isAskedAgain || this.#ended.length > 0
  }

  async #run(): Promise<true> {
    const { workplace, runs } = this.#parts
    const ended = this.#ended
    this.#ended = []
    const free = this.takes ? workplace.options.concurrency - runs.places.size + ended.length : 0
    if (free <= 0 && ended.length === 0) return true
    const { plain, limited } = this.#rooms(ended)
    try {
      // Those with limits are asked for in the order of what waits longest, so nothing is taken beside what is stored.
      if (limited.length === 0) await this.#turn(ended, plain, free)
      else if (ended.length > 0) await this.#turn(ended, plain, 0)
    } catch (error) {
      this.#ended = [...ended, ...this.#ended]
      throw error
    }
    if (limited.length > 0 && free > 0) await this.#takeInOrder(limited, plain, free)
    return true
  }

  /** @param ended leave their places in this round */
  #rooms(ended: readonly Running[]): { plain: Room[]; limited: KnownJob[] } {
    const { workplace, runs } = this.#parts
    const plain: Room[] = []
    const limited: KnownJob[] = []
    for (const job of workplace.known.values()) {
      if (Limits.isLimited(job)) {
        limited.push(job)
        continue
      }
      const leaving =
        job.concurrency === Infinity ? 0 : ended.filter((running) => running.job === job).length
      const most = Math.max(0, runs.places.roomOf(job) + leaving)
      plain.push({ name: job.name, most, timeout: job.timeout })
    }
    return { plain, limited }
  }

  async #turn(ended: readonly Running[], plain: readonly Room[], free: number): Promise<number> {
    const { workplace, worker, runs } = this.#parts
    if (plain.length === 0 && ended.length === 0) return 0
    const rooms = plain.length === 0 ? [{ name: '', most: 0, timeout: 0 }] : plain
    const claims = ended.map((running) => running.taken)
    const { done, taken } = await turn(workplace.table, worker, claims, rooms, free)
    for (const running of ended) runs.leave(running, done.has(running.taken.id) ? 'done' : 'lost')
    this.#begin(taken)
    return taken.length
  }

  async #takeInOrder(
    limited: readonly KnownJob[],
    plain: readonly Room[],
    free: number,
  ): Promise<void> {
    const { workplace, worker, runs, limits, wakeIn } = this.#parts
    const names = limited.filter((job) => runs.places.roomOf(job) > 0).map(({ name }) => name)
    const first = await heads(workplace.table, [...names, ...plain.map(({ name }) => name)])
    const order = new Set(first.map((name) => limited.find((job) => job.name === name)))
    let left = free
    for (const job of order) {
      if (left <= 0) break
      if (job === undefined) {
        left -= await this.#turn([], plain, left)
        continue
      }
      const most = Math.min(left, runs.places.roomOf(job))
      const { taken, moreIn } = await limits.take(job, most, worker)
      if (moreIn !== undefined) wakeIn(moreIn)
      this.#begin(taken)
      left -= taken.length
    }
  }

  #begin(taken: readonly Taken[]): void {
    const { workplace, runs, began } = this.#parts
    this.begun += taken.length
    if (taken.length > 0) began()
    for (const one of taken) {
      const job = workplace.known.get(one.name)
      if (job !== undefined) runs.begin(one, job)
    }
  }
}
