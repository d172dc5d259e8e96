/**
 * Works off the jobs of a process, from its start to its end: rounds take jobs, runs run them, leases keep them, looks find
 * what nobody tells of.
 */
import { randomUUID } from 'node:crypto'
import { recover } from './end-rows.js'
import { Leases } from './leases.js'
import { Limits } from './limits.js'
import { Looks } from './looks.js'
import { Rounds } from './rounds.js'
import { Runs } from './runs.js'
import { promote } from './take-rows.js'
import { jobsSignal, type Taker, type Wakes } from './wakes.js'
import { Workplace, type WorkOptions, type WorkplaceParts } from './workplace.js'

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
