/** What runs in this process: how many places are left, who waits for the end, and whose time is over. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobEvent } from '../../index.js'
import type { KnownJob } from './registry.js'
import type { JobRun } from './running-job.js'
import type { Taken } from './stored-job.js'

/** A job that this process runs. */
export interface Running {
  readonly taken: Taken
  readonly job: KnownJob
  readonly run: JobRun
  /** By the process's clock that never jumps, as `endsAt`. */
  readonly began: number
  /** When its time is over; once it was told to stop: when it is over all the same. */
  endsAt: number
  /** It is decided how it ended. */
  isOver: boolean
  /** Undefined where nobody listens. */
  readonly event: JobEvent | undefined
}

/** Timers take 2^31 ms at most. */
const longest = 3_600_000

export class Places {
  readonly #byId = new Map<number, Running>()
  readonly #byName = new Map<string, number>()
  readonly #late: (running: Running) => void
  #whenFree: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity

  /** @param late is told of runs whose time is over */
  constructor(late: (running: Running) => void) {
    this.#late = late
  }

  get size(): number {
    return this.#byId.size
  }

  get all(): Iterable<Running> {
    return this.#byId.values()
  }

  find(id: number): Running | undefined {
    return this.#byId.get(id)
  }

  /** How many more of a job may run here. */
  roomOf({ name, concurrency }: KnownJob): number {
    return concurrency - (this.#byName.get(name) ?? 0)
  }

  enter(running: Running): void {
    const { id, name } = running.taken
    this.#byId.set(id, running)
    this.#byName.set(name, (this.#byName.get(name) ?? 0) + 1)
    this.watch(running)
  }

  /** @returns false if it has left already */
  leave(running: Running): boolean {
    const { id, name } = running.taken
    if (this.#byId.get(id) !== running) return false
    this.#byId.delete(id)
    this.#byName.set(name, (this.#byName.get(name) ?? 1) - 1)
    if (this.size === 0) for (const resolve of this.#whenFree.splice(0)) resolve()
    return true
  }

  /** One timer for all: it is set to whose time ends first. */
  watch({ endsAt }: Running): void {
    if (endsAt >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = endsAt
    const wait = Math.min(longest, Math.max(1, endsAt - performance.now()))
    this.#timer = setTimeout(this.#look, wait)
    this.#timer.unref()
  }

  readonly #look = (): void => {
    this.#timerAt = Infinity
    const now = performance.now()
    for (const running of [...this.all]) {
      if (running.endsAt <= now && !running.isOver) this.#late(running)
      if (!running.isOver) this.watch(running)
    }
  }

  /** Resolves once nothing runs. */
  idle(): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenFree.push(resolve))
  }

  /** @returns false if something runs after so many milliseconds */
  async idleWithin(ms: number): Promise<boolean> {
    if (this.size === 0) return true
    const patience = new AbortController()
    const end = sleep(ms, false, { signal: patience.signal }).catch(() => false)
    const isIdle = await Promise.race([this.idle().then(() => true), end])
    patience.abort()
    return isIdle
  }
}
