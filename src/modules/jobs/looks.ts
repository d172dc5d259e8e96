/** Looks for what nobody tells of: jobs of other processes, times that have come, lost leases, old rows, forgotten classes. */
import { sweep, swept, waitingNames } from './kept-rows.js'
import type { Leases } from './leases.js'
import type { Rounds } from './rounds.js'
import { look, nextTime, promote, promoted } from './take-rows.js'
import type { Workplace } from './workplace.js'

export interface LooksParts {
  readonly workplace: Workplace
  readonly rounds: Rounds
  readonly leases: Leases
  /** Makes what the worker needs in the database, where the start could not. */
  readonly prepared: () => Promise<void>
}

/** Milliseconds between two removals of old rows, and between two signs for schedules. */
const sweepEvery = 60_000
const signEvery = 30_000
/** Milliseconds between two times that are awaited, at least: those between them begin together. */
const leastPause = 10
/** Timers take 2^31 ms at most; times further away are found by looks. */
const longest = 3_600_000

export class Looks {
  readonly #parts: LooksParts
  readonly #lacking = new Set<string>()
  #repeated: NodeJS.Timeout[] = []
  #tick: NodeJS.Timeout | undefined
  #next: NodeJS.Timeout | undefined
  #nextAt = Infinity

  constructor(parts: LooksParts) {
    this.#parts = parts
  }

  start(): void {
    const { schedules } = this.#parts.workplace
    this.#repeated = [
      this.#repeat(sweepEvery, () => this.sweep()),
      this.#repeat(signEvery, () => schedules.keep()),
    ]
    this.#later()
  }

  stop(): void {
    for (const timer of this.#repeated) clearInterval(timer)
    clearTimeout(this.#tick)
    clearTimeout(this.#next)
  }

  #repeat(every: number, work: () => Promise<unknown>): NodeJS.Timeout {
    return setInterval(() => {
      void this.#parts.workplace.guard(work)
    }, every).unref()
  }

  #later(): void {
    const { workplace } = this.#parts
    if (workplace.isStopping) return
    // It keeps the process alive, which may have nothing else to do.
    this.#tick = setTimeout(
      () => {
        void workplace
          .guard(() => this.#look())
          .then(() => {
            this.#later()
          })
      },
      // Processes that were started together do not ask together, and an idle one asks less than once a second.
      workplace.options.poll * (1.1 + 0.2 * Math.random()),
    )
  }

  async #look(): Promise<void> {
    const { workplace, rounds, leases, prepared } = this.#parts
    await prepared()
    const { isReady, hasLost, nextIn } = await look(workplace.table, [...workplace.known.keys()])
    if (hasLost) await leases.recover()
    if (nextIn === 0) await this.promote()
    else this.#wakeSoon(nextIn)
    if (isReady) await rounds.next()
  }

  /** A job's time comes in so many milliseconds. */
  wakeIn(ms: number): void {
    const at = performance.now() + ms
    if (at >= this.#nextAt || this.#parts.workplace.isStopping) return
    clearTimeout(this.#next)
    this.#nextAt = at
    this.#next = setTimeout(
      () => {
        this.#nextAt = Infinity
        void this.#parts.workplace.guard(() => this.promote())
      },
      Math.min(ms + 1, longest),
    )
    this.#next.unref()
  }

  /** In pieces, so that the first ones begin while the others follow; then the next one's time is awaited. */
  async promote(): Promise<void> {
    const { workplace, rounds } = this.#parts
    while ((await promote(workplace.table)) === promoted) void rounds.next()
    await rounds.next()
    const nextIn = await nextTime(workplace.table)
    if (nextIn !== undefined) this.#wakeSoon(Math.max(leastPause, nextIn))
  }

  /** Times that are further away are found by a later look. */
  #wakeSoon(nextIn: number | undefined): void {
    const { poll } = this.#parts.workplace.options
    if (nextIn !== undefined && nextIn < 10 * poll) this.wakeIn(nextIn)
  }

  /** In pieces, so that nobody waits long for them. */
  async sweep(): Promise<void> {
    const { workplace } = this.#parts
    while ((await sweep(workplace.table)) === swept) if (workplace.isStopping) return
    await this.#nameLacking()
  }

  /** Jobs wait whose class no process here has: once for each name it is said. */
  async #nameLacking(): Promise<void> {
    const { table, registry, log } = this.#parts.workplace
    for (const [name, waiting] of await waitingNames(table)) {
      if (registry.jobs.has(name) || this.#lacking.has(name)) continue
      this.#lacking.add(name)
      log.warn({ job: name, waiting }, 'jobs wait whose class this application does not have')
    }
  }
}
