/**
 * Takes jobs and runs them, as many at once as it has places. What it has taken begins in the same turn: nothing is fetched
 * ahead, so that a kill holds up only what was running.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  ApplicationState,
  Clock,
  JobEvent,
  JobOutcome,
  Log,
  Pulse,
  SqlRow,
} from '../../index.js'
import { checkBody } from './adding.js'
import { jobEvents } from './job-events.js'
import { Limits } from './limits.js'
import type { KnownJob, Registry } from './registry.js'
import { fieldsOf, GiveUp, JobRun, JobStopped } from './running-job.js'
import { Schedules } from './schedules.js'
import {
  grace,
  renewal,
  toRecovered,
  type JobStore,
  type Recovered,
  type Room,
  type Taken,
} from './store.js'
import { jobsSignal, type Taker, type Wakes } from './wakes.js'

export interface WorkOptions {
  /** How many run at once. Default 10. */
  readonly concurrency: number
  /** Milliseconds that running ones have at the end. */
  readonly drain: number
  /** Milliseconds between two looks for jobs of other processes. */
  readonly poll: number
  /** The names of jobs or of their classes that this process runs. Undefined: all. */
  readonly only?: readonly string[] | undefined
}

interface WorkerParts {
  readonly store: JobStore
  readonly registry: Registry
  readonly wakes: Wakes
  readonly clock: Clock
  readonly state: ApplicationState
  readonly options: WorkOptions
}

/** A job that this process runs. */
interface Running {
  readonly taken: Taken
  readonly job: KnownJob
  readonly run: JobRun
  readonly began: number
  timer: NodeJS.Timeout | undefined
  /** It is decided how it ended. */
  isOver: boolean
  readonly event: JobEvent
  readonly finish: (outcome: JobOutcome) => void
}

/** Milliseconds between two removals of old rows, and between two signs for schedules. */
const sweepEvery = 60_000
const signEvery = 30_000
/** Milliseconds that a run has after its `signal`, when the process closes. */
const lastGrace = 2_000
/** Milliseconds until a statement is tried again that failed. */
const again = 1_000
const longestPause = 3_600_000
/** Characters of a fault that are stored. */
const mostError = 8_000

export class Worker implements Taker {
  readonly id = randomUUID()
  readonly #parts: WorkerParts
  readonly #log: Log
  readonly #limits: Limits
  readonly #running = new Map<number, Running>()
  readonly #byName = new Map<string, number>()
  #options: WorkOptions
  #jobs: readonly KnownJob[] | undefined
  #schedules: Schedules | undefined
  #succeeded: Running[] = []
  #isFlushing = false
  #draining = 0
  #isStarted = false
  #isPrepared = false
  #isStopping = false
  #filling: Promise<number> | undefined
  #fillAgain = false
  #tick: NodeJS.Timeout | undefined
  #next: NodeJS.Timeout | undefined
  #nextAt = Infinity
  #housekeeping: NodeJS.Timeout[] = []
  #pulse: Pulse | undefined
  #heardAt = -Infinity
  #listening: Promise<void> | undefined
  #endSignal: (() => void) | undefined
  #stopped: Promise<void> | undefined
  #isAway = false
  #whenFree: (() => void)[] = []
  readonly #lacking = new Set<string>()

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#log = parts.state.log
    this.#options = parts.options
    this.#limits = new Limits(parts.store)
  }

  /** Makes what it needs in the database. */
  async prepare(): Promise<void> {
    this.#isPrepared = false
    await this.#limits.start(this.#known.filter((job) => Limits.isLimited(job)))
    await this.#knownSchedules.keep()
    this.#isPrepared = true
  }

  /** Begins to work, until `stop`. */
  async start(options: Partial<WorkOptions> = {}): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#options = { ...this.#options, ...options }
    this.#jobs = undefined
    this.#schedules = undefined
    const { wakes } = this.#parts
    wakes.taker = this
    // While the database is away the looks try it again.
    await this.#guard(() => this.prepare())
    this.#listening = this.#listen()
    this.#housekeeping = [
      this.#repeat(sweepEvery, () => this.#sweep()),
      this.#repeat(signEvery, () => this.#knownSchedules.keep()),
    ]
    await this.#guard(() => this.#lookForLost())
    this.#later()
    this.wake()
  }

  /** The start does not wait for it: until then jobs of others are found by looks. */
  async #listen(): Promise<void> {
    try {
      this.#endSignal = await this.#parts.store.database.onSignal(jobsSignal, () => {
        this.wake()
      })
    } catch (err) {
      if (!this.#isStopping)
        this.#log.warn({ err }, 'jobs of other processes are found by polling alone')
    }
  }

  /** The jobs that this process runs. */
  get #known(): readonly KnownJob[] {
    const { only } = this.#options
    this.#jobs ??= [...this.#parts.registry.jobs.values()].filter(
      ({ name, owner }) => only === undefined || only.includes(name) || only.includes(owner.name),
    )
    return this.#jobs
  }

  get #knownSchedules(): Schedules {
    this.#schedules ??= new Schedules(this.#parts.store, this.#known)
    return this.#schedules
  }

  get running(): number {
    return this.#running.size
  }

  hasRoom(name: string | undefined): boolean {
    if (!this.#isStarted || this.#isStopping || this.#free <= 0) return false
    return (
      name === undefined || this.#known.some((job) => job.name === name && this.#roomOf(job) > 0)
    )
  }

  wake(): void {
    if (!this.#isStarted || this.#isStopping) return
    this.#parts.wakes.outside(() => {
      void this.#fill()
    })
  }

  wakeIn(ms: number): void {
    if (!this.#isStarted || this.#isStopping) return
    const at = performance.now() + ms
    if (at >= this.#nextAt) return
    clearTimeout(this.#next)
    this.#nextAt = at
    // Timers take 2^31 ms at most; those further away are found by looks.
    this.#next = setTimeout(
      () => {
        this.#nextAt = Infinity
        void this.#guard(() => this.#promote())
      },
      Math.min(ms + 1, 3_600_000),
    )
    this.#next.unref()
  }

  /** A job is cancelled: if it runs here its signal aborts. */
  cancel(id: number): void {
    const running = this.#running.get(id)
    if (running !== undefined) this.#stopRun(running, 'cancelled')
  }

  /** Schedules are made anew, after a test has emptied the tables or moved its clock back. */
  async reset(anew: boolean): Promise<void> {
    await this.#knownSchedules.keep(anew)
  }

  /** Runs all that is due, and what that adds. @returns how many runs there were */
  async drain(): Promise<number> {
    this.#draining++
    try {
      return await this.#parts.wakes.outside(() => this.#drainAll())
    } finally {
      this.#draining--
    }
  }

  /** A run that adds a job at once must not wait for itself: whoever drains comes to that job. */
  get isDraining(): boolean {
    return this.#draining > 0
  }

  async #drainAll(): Promise<number> {
    const { store } = this.#parts
    let runs = 0
    await this.#knownSchedules.keep()
    for (;;) {
      await store.recover()
      while ((await store.promote()) > 0);
      const begun = await this.#fill()
      runs += begun
      await this.#idle()
      if (begun > 0 || this.#running.size > 0) continue
      await this.#sweep()
      return runs
    }
  }

  /** Takes no more; running ones may end, are told to stop, and are given back at last. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    const wasStarted = this.#isStarted
    this.#isStopping = true
    for (const timer of this.#housekeeping) clearInterval(timer)
    clearTimeout(this.#tick)
    clearTimeout(this.#next)
    await this.#listening
    this.#endSignal?.()
    await this.#filling?.catch(() => undefined)
    if (wasStarted || this.#running.size > 0) {
      if (!(await this.#idleWithin(this.#options.drain))) {
        for (const running of this.#running.values()) this.#stopRun(running, 'closing')
        if (!(await this.#idleWithin(lastGrace))) await this.#giveAllBack()
      }
    }
    await this.#pulse?.stop()
    this.#pulse = undefined
  }

  async #giveAllBack(): Promise<void> {
    for (const running of [...this.#running.values()]) {
      if (running.isOver) continue
      running.isOver = true
      await this.#parts.store.giveBack(running.taken, this.id).catch((err: unknown) => {
        this.#log.warn(
          { ...fieldsOf(running.taken), err },
          'a job could not be given back: its lease will end',
        )
      })
      this.#leave(running, 'given back')
    }
  }

  async #idleWithin(ms: number): Promise<boolean> {
    if (this.#running.size === 0) return true
    const patience = new AbortController()
    const end = sleep(ms, false, { signal: patience.signal }).catch(() => false)
    const isIdle = await Promise.race([this.#idle().then(() => true), end])
    patience.abort()
    return isIdle
  }

  /** Resolves once nothing runs. */
  #idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenFree.push(resolve))
  }

  get #free(): number {
    return this.#options.concurrency - this.#running.size
  }

  #roomOf({ name, concurrency }: KnownJob): number {
    return concurrency - (this.#byName.get(name) ?? 0)
  }

  /** Takes what it has places for. @returns how many were begun */
  async #fill(): Promise<number> {
    if (this.#filling !== undefined) {
      this.#fillAgain = true
      return this.#filling
    }
    const filling = this.#fillNow()
    this.#filling = filling
    try {
      return await filling
    } finally {
      this.#filling = undefined
    }
  }

  async #fillNow(): Promise<number> {
    let begun = 0
    do {
      this.#fillAgain = false
      const isDone = await this.#guard(async () => {
        for (;;) {
          const free = this.#free
          if (free <= 0 || this.#isStopping) return
          const taken = await this.#takeSome(free)
          begun += taken
          // There may be more: what was taken may have ended already.
          if (taken < free) return
        }
      })
      if (!isDone) return begun
      // Asked for meanwhile.
    } while (this.#isAskedAgain())
    return begun
  }

  #isAskedAgain(): boolean {
    return this.#fillAgain
  }

  /** Those without limits by one statement; those with limits each by its own, in the order of what waits longest. */
  async #takeSome(free: number): Promise<number> {
    const { store } = this.#parts
    const plain: Room[] = []
    const limited: KnownJob[] = []
    for (const job of this.#known) {
      if (Limits.isLimited(job)) limited.push(job)
      else
        plain.push({ name: job.name, most: Math.max(0, this.#roomOf(job)), timeout: job.timeout })
    }
    let left = free
    const takePlain = async (): Promise<void> => {
      if (plain.length === 0 || left <= 0) return
      const taken = await store.take(plain, left, this.id)
      left -= taken.length
      this.#begin(taken)
    }
    const heads = await this.#limitedHeads(limited, plain)
    for (const head of heads) {
      if (left <= 0) break
      if (head === 'plain') await takePlain()
      else left -= await this.#takeLimited(head, left)
    }
    if (heads.length === 0) await takePlain()
    return free - left
  }

  /** Which to ask first, where jobs with limits wait. */
  async #limitedHeads(
    limited: readonly KnownJob[],
    plain: readonly Room[],
  ): Promise<(KnownJob | 'plain')[]> {
    if (limited.length === 0) return []
    const { store } = this.#parts
    const names = limited.filter((job) => this.#roomOf(job) > 0).map(({ name }) => name)
    const heads = await store.heads([...names, ...plain.map(({ name }) => name)])
    const found: (KnownJob | 'plain')[] = []
    for (const name of heads) {
      const one = limited.find((job) => job.name === name) ?? 'plain'
      if (!found.includes(one)) found.push(one)
    }
    return found
  }

  async #takeLimited(job: KnownJob, free: number): Promise<number> {
    const most = Math.min(free, this.#roomOf(job))
    if (most <= 0) return 0
    const { taken, moreIn } = await this.#limits.take(job, most, this.id)
    if (moreIn !== undefined) this.wakeIn(moreIn)
    this.#begin(taken)
    return taken.length
  }

  #begin(taken: readonly Taken[]): void {
    if (taken.length > 0) this.#keepAlive()
    for (const one of taken) {
      const job = this.#known.find(({ name }) => name === one.name)
      if (job !== undefined) this.#beginOne(one, job)
    }
  }

  #beginOne(taken: Taken, job: KnownJob): void {
    const { state } = this.#parts
    const { id, name, attempt } = taken
    const run = new JobRun({
      taken,
      log: this.#log,
      tell: async (progress) => {
        const isMine = await this.#parts.store.progress(taken, this.id, progress)
        if (!isMine) this.#lose(running)
      },
    })
    const event: JobEvent = {
      ...{ application: state, job: name, id, attempt, trace: taken.trace ?? undefined },
      ...{ ms: 0, error: undefined, outcome: undefined },
    }
    const began = performance.now()
    const running: Running = {
      ...{ taken, job, run, began, event, timer: undefined, isOver: false },
      finish: (outcome) => {
        event.outcome = outcome
        jobEvents.finish(event, began)
      },
    }
    this.#running.set(id, running)
    this.#byName.set(name, (this.#byName.get(name) ?? 0) + 1)
    running.timer = setTimeout(
      () => {
        this.#stopRun(running, 'timeout')
      },
      Math.min(job.timeout, 2 ** 31 - 1),
    )
    running.timer.unref()
    if (!jobEvents.heard) void this.#perform(running)
    else
      jobEvents.begin(event, () => {
        void this.#perform(running)
      })
  }

  async #perform(running: Running): Promise<void> {
    const { taken, job, run } = running
    try {
      if (job.schedule !== undefined) await job.call(run)
      else {
        let body: unknown
        try {
          const checked =
            job.check === undefined ? undefined : await checkBody(taken.name, job, taken.body)
          body = job.check === undefined && taken.body !== null ? JSON.parse(taken.body) : checked
        } catch (error) {
          throw new GiveUp((error as Error).message, { cause: error })
        }
        await job.call(body, run)
      }
    } catch (error) {
      this.#failed(running, error)
      return
    }
    if (running.isOver) return
    running.isOver = true
    this.#succeeded.push(running)
    this.#flushSoon()
  }

  /** All that end in one turn are stored by one statement. */
  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => {
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const ended = this.#succeeded
    this.#succeeded = []
    this.#isFlushing = false
    const plain = ended.filter(({ job }) => job.schedule === undefined)
    const store = (): Promise<ReadonlySet<number>> =>
      this.#parts.store.done(
        plain.map(({ taken }) => taken),
        this.id,
      )
    if (plain.length > 0) {
      const still = await this.#untilStored(store)
      for (const running of plain)
        this.#leave(running, still?.has(running.taken.id) === true ? 'done' : 'lost')
    }
    for (const running of ended) {
      if (running.job.schedule === undefined) continue
      const isMine = await this.#untilStored(() =>
        this.#endScheduled(running, async () => {
          const still = await this.#parts.store.done([running.taken], this.id)
          return still.size === 1
        }),
      )
      this.#leave(running, isMine === true ? 'done' : 'lost')
    }
    if (this.#isStarted && !this.#isStopping) void this.#fill()
  }

  /** The end of a scheduled run and the next one are stored together. */
  #endScheduled(running: Running, end: () => Promise<boolean>): Promise<boolean> {
    const { store } = this.#parts
    return store.database.transaction(
      async () => {
        const isMine = await end()
        if (isMine) await this.#knownSchedules.next(running.job, running.taken)
        return isMine
      },
      { isolation: 'read committed' },
    )
  }

  #failed(running: Running, error: unknown): void {
    if (running.isOver) return
    running.isOver = true
    void this.#storeFault(running, error)
  }

  async #storeFault(running: Running, error: unknown): Promise<void> {
    const { taken, run } = running
    const why = run.stopped?.why
    if (why === 'lost') {
      this.#leave(running, 'lost')
      return
    }
    if (why === 'closing') {
      const isMine = await this.#untilStored(() => this.#parts.store.giveBack(taken, this.id))
      this.#leave(running, isMine === true ? 'given back' : 'lost')
      return
    }
    const isFinal = error instanceof GiveUp || taken.attempt > taken.retries
    const state = why === 'cancelled' ? 'cancelled' : isFinal ? 'failed' : 'waiting'
    const pause =
      Math.min(longestPause, taken.backoff * 2 ** (taken.attempt - 1)) *
      (0.85 + 0.15 * Math.random())
    const text = describe(error)
    const line = `${JSON.stringify({ attempt: taken.attempt, ...text })}\n`
    const ending = { state, pause: Math.round(pause), error: text.stack, line } as const
    const end = (): Promise<boolean> => this.#parts.store.end(taken, this.id, ending)
    const isMine = await this.#untilStored(() =>
      running.job.schedule !== undefined && state !== 'waiting'
        ? this.#endScheduled(running, end)
        : end(),
    )
    if (isMine !== true) {
      this.#leave(running, 'lost')
      return
    }
    if (state === 'waiting') this.wakeIn(ending.pause)
    this.#logFault(running, error, state)
    running.event.error = error
    this.#leave(running, state === 'waiting' ? 'again' : state)
  }

  #logFault({ taken }: Running, error: unknown, state: 'waiting' | 'failed' | 'cancelled'): void {
    const details = { ...fieldsOf(taken), err: error }
    if (state === 'failed') this.#log.error(details, 'a job failed')
    else if (state === 'waiting') this.#log.warn(details, 'a job failed and will run again')
    else this.#log.info(fieldsOf(taken), 'a job was cancelled')
  }

  /** The job's places are free again. */
  #leave(running: Running, outcome: JobOutcome): void {
    const { id, name } = running.taken
    if (this.#running.get(id) !== running) return
    clearTimeout(running.timer)
    this.#running.delete(id)
    this.#byName.set(name, (this.#byName.get(name) ?? 1) - 1)
    if (outcome === 'lost')
      this.#log.warn(
        fieldsOf(running.taken),
        'a job was taken from this process while it ran: what it did is done again',
      )
    running.finish(outcome)
    if (this.#running.size === 0) for (const resolve of this.#whenFree.splice(0)) resolve()
    if (outcome !== 'done' && this.#isStarted && !this.#isStopping) this.wake()
  }

  /** Its signal aborts; what does not stop within a while is over all the same. */
  #stopRun(running: Running, why: JobStopped['why']): void {
    const { run } = running
    if (running.isOver || run.stopped !== undefined) return
    run.stop(why)
    if (why === 'closing' || why === 'lost') return
    clearTimeout(running.timer)
    running.timer = setTimeout(() => {
      this.#failed(running, run.stopped)
    }, grace)
    running.timer.unref()
  }

  #lose(running: Running): void {
    if (running.isOver) return
    running.run.stop('lost')
    running.isOver = true
    this.#leave(running, 'lost')
  }

  /** The thread that renews leases beats while something runs. */
  #keepAlive(): void {
    if (this.#pulse !== undefined || !this.#isStarted) return
    this.#heardAt = -Infinity
    const { store } = this.#parts
    this.#pulse = store.database.pulse(store.pulses(this.id), {
      every: renewal,
      heard: (rows) => {
        this.#heed(rows)
      },
      failed: (err) => {
        this.#log.warn({ err }, 'the leases of running jobs could not be renewed')
      },
    })
  }

  #heed([renewed = [], , recovered = []]: readonly (readonly SqlRow[])[]): void {
    const still = new Map(
      renewed.map(([id, claims, isCancelled]) => [
        Number(id),
        { claims: Number(claims), isCancelled: Number(isCancelled) === 1 },
      ]),
    )
    const before = this.#heardAt
    this.#heardAt = performance.now()
    for (const running of this.#running.values()) {
      const found = still.get(running.taken.id)
      if (found?.claims === running.taken.claims) {
        if (found.isCancelled) this.#stopRun(running, 'cancelled')
      } else if (running.began < before && !running.isOver) this.#lose(running)
    }
    this.#tellRecovered(recovered.map(toRecovered))
    if (this.#running.size > 0) return
    // Until the next job.
    const pulse = this.#pulse
    this.#pulse = undefined
    void pulse?.stop()
  }

  #tellRecovered(recovered: readonly Recovered[]): void {
    for (const one of recovered) {
      const what = one.state === 'waiting' ? 'it will run again' : `it is ${one.state}`
      this.#log.warn({ ...fieldsOf(one), state: one.state }, `the lease of a job ended: ${what}`)
    }
    if (recovered.length === 0) return
    this.wake()
    if (
      recovered.some(
        ({ state, name }) =>
          state !== 'waiting' && this.#known.some((job) => job.name === name && job.schedule),
      )
    )
      void this.#guard(() => this.#knownSchedules.keep())
  }

  #later(): void {
    if (this.#isStopping) return
    const { poll } = this.#options
    // It keeps the process alive, which may have nothing else to do.
    this.#tick = setTimeout(
      () => {
        void this.#guard(() => this.#look()).then(() => {
          this.#later()
        })
      },
      // Processes that were started together do not ask together, and an idle one asks less than once a second.
      poll * (1.05 + 0.2 * Math.random()),
    )
  }

  async #look(): Promise<void> {
    if (!this.#isPrepared) await this.prepare()
    const { store } = this.#parts
    const { isReady, hasLost, nextIn } = await store.look(this.#known.map(({ name }) => name))
    if (hasLost) await this.#lookForLost()
    if (nextIn === 0) await this.#promote()
    else if (nextIn !== undefined && nextIn < 10 * this.#options.poll) this.wakeIn(nextIn)
    if (isReady) await this.#fill()
  }

  /** In pieces, so that the first ones begin while the others follow. */
  async #promote(): Promise<void> {
    while ((await this.#parts.store.promote()) === 1000) void this.#fill()
    await this.#fill()
  }

  async #lookForLost(): Promise<void> {
    this.#tellRecovered(await this.#parts.store.recover())
  }

  async #sweep(): Promise<void> {
    while ((await this.#parts.store.sweep()) === 500) if (this.#isStopping) return
    await this.#nameLacking()
  }

  /** Jobs wait whose class no process here has: once for each name it is said. */
  async #nameLacking(): Promise<void> {
    for (const [name, count] of await this.#parts.store.waitingNames()) {
      if (this.#parts.registry.jobs.has(name) || this.#lacking.has(name)) continue
      this.#lacking.add(name)
      this.#log.warn(
        { job: name, waiting: count },
        'jobs wait whose class this application does not have',
      )
    }
  }

  #repeat(every: number, work: () => Promise<unknown>): NodeJS.Timeout {
    return setInterval(() => {
      void this.#guard(work)
    }, every).unref()
  }

  /** Logs faults of statements, once for an outage. @returns whether there was none */
  async #guard(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      this.#isAway = false
      return true
    } catch (err) {
      if (!this.#isAway && !this.#isStopping)
        this.#log.error({ err }, 'jobs cannot be taken from the database')
      this.#isAway = true
      return false
    }
  }

  /** Stores how a run ended, however long the database is away: until then its lease goes on, or another process has it. */
  async #untilStored<T>(store: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await store()
      } catch (err) {
        if (!this.#isAway)
          this.#log.error({ err }, 'the end of a job cannot be stored: it is tried again')
        this.#isAway = true
        if (this.#isStopping && this.#stopped === undefined) return undefined
        await sleep(again, undefined, { ref: false })
      }
    }
  }
}

function describe(error: unknown): { readonly message: string; readonly stack: string } {
  if (!(error instanceof Error)) {
    const message = String(error).slice(0, mostError)
    return { message, stack: message }
  }
  const { message, stack = message } = error
  return { message: clean(message).slice(0, 2000), stack: clean(stack).slice(0, mostError) }
}

/** Databases refuse the character NUL and lone surrogates. */
function clean(text: string): string {
  return Buffer.from(text.replaceAll('\0', '')).toString()
}
