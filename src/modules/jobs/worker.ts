/** Looks for what nobody tells of: jobs of other processes, times that have come, lost leases, old rows, forgotten classes. */

import { randomUUID } from 'node:crypto'
import { recover, promote, look, nextTime, promoted } from './worker-statements.js'
import { Leases, Runs } from './job-runner.js'
import { Limits, Rounds } from './claims.js'
import {
  jobsSignal,
  type Taker,
  type Wakes,
  Workplace,
  type WorkOptions,
  type WorkplaceParts,
} from './worker-context.js'
import { sweep, swept, waitingNames } from './job-table.js'

/**
 * Works off the jobs of a process, from its start to its end: rounds take jobs, runs run them, leases keep them, looks find
 * what nobody tells of.
 */

interface WorkerParts extends WorkplaceParts {
  readonly wakes: Wakes
}

/** Milliseconds that a run has after its `signal`, when the process closes. */
const lastGrace = 2_000

export class Worker implements Taker {
  readonly #workplace: Workplace
  readonly #wakes: Wakes
  readonly #limits: Limits
  readonly #runs: Runs
  readonly #rounds: Rounds
  readonly #leases: Leases
  readonly #looks: Looks
  #isStarted = false
  #isPrepared = false
  #draining = 0
  #listening: Promise<void> | undefined
  #endSignal: (() => void) | undefined
  #stopped: Promise<void> | undefined

  constructor(parts: WorkerParts) {
    const worker = randomUUID()
    const workplace = new Workplace(parts)
    const wakeIn = (ms: number): void => {
      this.wakeIn(ms)
    }
    const wake = (): void => {
      this.wake()
    }
    const shared = { workplace, worker, wakeIn, wake }
    this.#workplace = workplace
    this.#wakes = parts.wakes
    this.#limits = new Limits(parts.table)
    this.#runs = new Runs({
      ...shared,
      freed: wake,
      succeeded: (running) => {
        this.#rounds.ended(running)
      },
    })
    const runs = this.#runs
    this.#leases = new Leases({ ...shared, runs })
    this.#rounds = new Rounds({
      ...{ ...shared, runs, limits: this.#limits },
      outside: (work) => parts.wakes.outside(work),
      began: () => {
        if (this.#isStarted) this.#leases.keep()
      },
    })
    const prepared = (): Promise<void> => (this.#isPrepared ? Promise.resolve() : this.prepare())
    this.#looks = new Looks({ workplace, rounds: this.#rounds, leases: this.#leases, prepared })
  }

  /** Makes what it needs in the database. */
  async prepare(): Promise<void> {
    const { known, schedules } = this.#workplace
    this.#isPrepared = false
    await this.#limits.start([...known.values()].filter((job) => Limits.isLimited(job)))
    await schedules.keep()
    this.#isPrepared = true
  }

  /** Begins to work, until `stop`. */
  async start(options: Partial<WorkOptions> = {}): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    const workplace = this.#workplace
    workplace.options = { ...workplace.options, ...options }
    this.#wakes.taker = this
    this.#rounds.takes = true
    // While the database is away the looks try it again.
    await workplace.guard(() => this.prepare())
    this.#listening = this.#listen()
    await workplace.guard(() => this.#leases.recover())
    this.#looks.start()
    this.wake()
  }

  /** The start does not wait for it: until then jobs of others are found by looks. */
  async #listen(): Promise<void> {
    const { table, log } = this.#workplace
    try {
      this.#endSignal = await table.database.onSignal(jobsSignal, () => {
        this.wake()
      })
    } catch (err) {
      if (!this.#workplace.isStopping)
        log.warn({ err }, 'jobs of other processes are found by polling alone')
    }
  }

  get #isWorking(): boolean {
    return this.#isStarted && !this.#workplace.isStopping
  }

  hasRoom(name: string | undefined): boolean {
    const { options, known } = this.#workplace
    const { places } = this.#runs
    if (!this.#isWorking || places.size >= options.concurrency) return false
    if (name === undefined) return true
    const job = known.get(name)
    return job !== undefined && places.roomOf(job) > 0
  }

  wake(): void {
    if (!this.#isWorking) return
    this.#wakes.outside(() => {
      void this.#rounds.next()
    })
  }

  wakeIn(ms: number): void {
    if (this.#isWorking)
      this.#wakes.outside(() => {
        this.#looks.wakeIn(ms)
      })
  }

  /** A job is cancelled: if it runs here its signal aborts. */
  cancel(id: number): void {
    const running = this.#runs.places.find(id)
    if (running !== undefined) this.#runs.stop(running, 'cancelled')
  }

  /** Schedules are made anew, after a test has emptied the tables or moved its clock back. */
  async reset(anew: boolean): Promise<void> {
    await this.#workplace.schedules.keep(anew)
  }

  /** Runs all that is due, and what that adds. @returns how many runs there were */
  async drain(): Promise<number> {
    this.#draining++
    this.#rounds.takes = true
    try {
      return await this.#wakes.outside(() => this.#drainAll())
    } finally {
      this.#draining--
      this.#rounds.takes = this.#isWorking || this.isDraining
    }
  }

  /** A run that adds a job at once must not wait for itself: whoever drains comes to that job. */
  get isDraining(): boolean {
    return this.#draining > 0
  }

  async #drainAll(): Promise<number> {
    const { table, schedules } = this.#workplace
    const { places } = this.#runs
    const rounds = this.#rounds
    const before = rounds.begun
    await schedules.keep()
    for (;;) {
      const { begun } = rounds
      await recover(table)
      while ((await promote(table)) > 0);
      await rounds.next()
      await places.idle()
      if (rounds.begun > begun || places.size > 0) continue
      await this.#looks.sweep()
      return rounds.begun - before
    }
  }

  /** Takes no more; running ones may end, are told to stop, and are given back at last. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    const { places } = this.#runs
    this.#workplace.isStopping = true
    this.#rounds.takes = false
    this.#looks.stop()
    await this.#listening
    this.#endSignal?.()
    await this.#rounds.settled()
    if (!(await places.idleWithin(this.#workplace.options.drain))) {
      for (const running of places.all) this.#runs.stop(running, 'closing')
      if (!(await places.idleWithin(lastGrace))) await this.#runs.giveAllBack()
    }
    await this.#leases.stop()
  }
}

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
