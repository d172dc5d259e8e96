/**
 * The worker of a process: starts, polls the queue, drains and stops. Claim cycles claim jobs, the runner runs them, and the
 * lease renewer keeps them.
 */
import { randomUUID } from 'node:crypto'
import {
  recoverExpired,
  promoteDelayed,
  readQueueState,
  timeUntilNext,
  promoteBatchSize,
} from './worker-statements.js'
import { LeaseRenewer, JobRunner } from './job-runner.js'
import { LimitedClaims, ClaimCycle } from './claims.js'
import {
  jobsSignal,
  type LocalWorker,
  type WorkerNotifier,
  WorkerContext,
  type WorkOptions,
  type WorkerContextParts,
} from './worker-context.js'
import { sweep, sweepBatchSize, countDueByName } from './job-table.js'

interface WorkerParts extends WorkerContextParts {
  readonly notifier: WorkerNotifier
}

/** Milliseconds that a run has to stop after its `signal` aborts, when the process closes. */
const closingGraceMs = 2_000

/** Provided as a part of `JobsRuntime`. Tests call `drain`, applications `start` and `stop`. */
export class Worker implements LocalWorker {
  readonly #context: WorkerContext
  readonly #notifier: WorkerNotifier
  readonly #limitedClaims: LimitedClaims
  readonly #runner: JobRunner
  readonly #claimCycle: ClaimCycle
  readonly #leaseRenewer: LeaseRenewer
  readonly #poller: QueuePoller
  #isStarted = false
  #isPrepared = false
  #activeDrains = 0
  #listening: Promise<void> | undefined
  #stopListening: (() => void) | undefined
  #stopping: Promise<void> | undefined

  constructor(parts: WorkerParts) {
    const worker = randomUUID()
    const context = new WorkerContext(parts)
    const wakeIn = (ms: number): void => {
      this.wakeIn(ms)
    }
    const wake = (): void => {
      this.wake()
    }
    const shared = { context, worker, wakeIn, wake }
    this.#context = context
    this.#notifier = parts.notifier
    this.#limitedClaims = new LimitedClaims(parts.table)
    this.#runner = new JobRunner({
      ...shared,
      onSlotFree: wake,
      onSuccess: (running) => {
        this.#claimCycle.addFinished(running)
      },
    })
    const runner = this.#runner
    this.#leaseRenewer = new LeaseRenewer({
      ...shared,
      runner,
      whenClaimed: () => this.#claimCycle.whenSettled(),
    })
    this.#claimCycle = new ClaimCycle({
      ...shared,
      runner,
      limitedClaims: this.#limitedClaims,
      runOutsideRequest: (work) => parts.notifier.runOutsideRequest(work),
      onClaimed: () => {
        if (this.#isStarted) this.#leaseRenewer.start()
      },
    })
    const ensurePrepared = (): Promise<void> =>
      this.#isPrepared ? Promise.resolve() : this.prepare()
    this.#poller = new QueuePoller({
      context,
      claimCycle: this.#claimCycle,
      leaseRenewer: this.#leaseRenewer,
      ensurePrepared,
    })
  }

  /** Creates the rows that the worker needs in the database. */
  async prepare(): Promise<void> {
    const { jobs, schedules } = this.#context
    this.#isPrepared = false
    await this.#limitedClaims.createLockRows(
      [...jobs.values()].filter((job) => LimitedClaims.isLimited(job)),
    )
    await schedules.sync()
    this.#isPrepared = true
  }

  /** Starts claiming jobs, until `stop`. */
  async start(options: Partial<WorkOptions> = {}): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    const context = this.#context
    context.options = { ...context.options, ...options }
    this.#notifier.worker = this
    this.#claimCycle.isClaiming = true
    // If the database is down, the poller prepares later.
    await context.tryOrLog(() => this.prepare())
    this.#listening = this.#listen()
    await context.tryOrLog(() => this.#leaseRenewer.recover())
    this.#poller.start()
    this.wake()
  }

  /** Listens for new jobs of other processes. The start does not wait for this; until then polls find them. */
  async #listen(): Promise<void> {
    const { table, log } = this.#context
    try {
      this.#stopListening = await table.database.onSignal(jobsSignal, () => {
        this.wake()
      })
    } catch (err) {
      if (!this.#context.isStopping)
        log.warn({ err }, 'jobs of other processes are found by polling only')
    }
  }

  get #isWorking(): boolean {
    return this.#isStarted && !this.#context.isStopping
  }

  hasCapacity(name: string | undefined): boolean {
    const { options, jobs } = this.#context
    const { runningJobs } = this.#runner
    if (!this.#isWorking || runningJobs.size >= options.concurrency) return false
    if (name === undefined) return true
    const job = jobs.get(name)
    return job !== undefined && runningJobs.capacityFor(job) > 0
  }

  wake(): void {
    if (!this.#isWorking) return
    this.#notifier.runOutsideRequest(() => {
      void this.#claimCycle.run()
    })
  }

  wakeIn(ms: number): void {
    if (this.#isWorking)
      this.#notifier.runOutsideRequest(() => {
        this.#poller.wakeIn(ms)
      })
  }

  /** Aborts the signal of a cancelled job if it runs in this process. */
  cancel(id: number): void {
    const running = this.#runner.runningJobs.find(id)
    if (running !== undefined) this.#runner.stop(running, 'cancelled')
  }

  /** Adds or corrects schedules after a test has emptied the tables or moved its clock back. */
  async resetSchedules(resetAll: boolean): Promise<void> {
    await this.#context.schedules.sync(resetAll)
  }

  /** Runs all due jobs and the jobs that they add. @returns the number of runs */
  async drain(): Promise<number> {
    this.#activeDrains++
    this.#claimCycle.isClaiming = true
    try {
      return await this.#notifier.runOutsideRequest(() => this.#drainQueue())
    } finally {
      this.#activeDrains--
      this.#claimCycle.isClaiming = this.#isWorking || this.isDraining
    }
  }

  /** A run that adds a job must not wait for itself: the current drain runs that job. */
  get isDraining(): boolean {
    return this.#activeDrains > 0
  }

  async #drainQueue(): Promise<number> {
    const { table, schedules } = this.#context
    const { runningJobs } = this.#runner
    const claimCycle = this.#claimCycle
    const runsBefore = claimCycle.startedRuns
    await schedules.sync()
    for (;;) {
      const { startedRuns: startedBefore } = claimCycle
      await recoverExpired(table)
      while ((await promoteDelayed(table)) > 0);
      await claimCycle.run()
      await runningJobs.whenIdle()
      if (claimCycle.startedRuns > startedBefore || runningJobs.size > 0) continue
      await this.#poller.sweep()
      return claimCycle.startedRuns - runsBefore
    }
  }

  /**
   * Claims no more jobs and waits for running ones. Then their signals abort, and unfinished jobs return to the queue.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown()
    return this.#stopping
  }

  async #shutDown(): Promise<void> {
    const { runningJobs } = this.#runner
    this.#context.isStopping = true
    this.#claimCycle.isClaiming = false
    this.#poller.stop()
    await this.#listening
    this.#stopListening?.()
    await this.#claimCycle.whenSettled()
    if (!(await runningJobs.idleWithin(this.#context.options.drain))) {
      for (const running of runningJobs.all) this.#runner.stop(running, 'closing')
      if (!(await runningJobs.idleWithin(closingGraceMs))) await this.#runner.returnAllToQueue()
    }
    await this.#leaseRenewer.stop()
  }
}

export interface QueuePollerParts {
  readonly context: WorkerContext
  readonly claimCycle: ClaimCycle
  readonly leaseRenewer: LeaseRenewer
  /** Prepares the database if the start could not. */
  readonly ensurePrepared: () => Promise<void>
}

/** Milliseconds between two removals of old rows, and between two syncs of schedules. */
const sweepIntervalMs = 60_000
const syncIntervalMs = 30_000
/** The shortest wait before delayed jobs are made due. Jobs that are due in between start together. */
const minPromoteDelayMs = 10
/** Timers allow at most 2^31 ms. Polls find jobs that are due later. */
const maxTimerDelayMs = 3_600_000

/** Finds what no signal reports: jobs of other processes, due times, expired leases, old rows, and missing classes. */
export class QueuePoller {
  readonly #parts: QueuePollerParts
  readonly #reportedNames = new Set<string>()
  #intervals: NodeJS.Timeout[] = []
  #pollTimer: NodeJS.Timeout | undefined
  #promoteTimer: NodeJS.Timeout | undefined
  #promoteAt = Infinity

  constructor(parts: QueuePollerParts) {
    this.#parts = parts
  }

  start(): void {
    const { schedules } = this.#parts.context
    this.#intervals = [
      this.#repeat(sweepIntervalMs, () => this.sweep()),
      this.#repeat(syncIntervalMs, () => schedules.sync()),
    ]
    this.#schedulePoll()
  }

  stop(): void {
    for (const timer of this.#intervals) clearInterval(timer)
    clearTimeout(this.#pollTimer)
    clearTimeout(this.#promoteTimer)
  }

  #repeat(every: number, work: () => Promise<unknown>): NodeJS.Timeout {
    return setInterval(() => {
      void this.#parts.context.tryOrLog(work)
    }, every).unref()
  }

  #schedulePoll(): void {
    const { context } = this.#parts
    if (context.isStopping) return
    // Not unreferenced: this timer keeps a process alive that only works on jobs.
    this.#pollTimer = setTimeout(
      () => {
        void context
          .tryOrLog(() => this.#poll())
          .then(() => {
            this.#schedulePoll()
          })
      },
      // The random share spreads the polls of processes that started together.
      context.options.poll * (1.1 + 0.2 * Math.random()),
    )
  }

  async #poll(): Promise<void> {
    const { context, claimCycle, leaseRenewer, ensurePrepared } = this.#parts
    await ensurePrepared()
    const { isReady, hasExpiredLease, nextInMs } = await readQueueState(context.table, [
      ...context.jobs.keys(),
    ])
    if (hasExpiredLease) await leaseRenewer.recover()
    if (nextInMs === 0) await this.promote()
    else this.#wakeSoon(nextInMs)
    if (isReady) await claimCycle.run()
  }

  /** Makes delayed jobs due in this many milliseconds. */
  wakeIn(ms: number): void {
    const at = performance.now() + ms
    if (at >= this.#promoteAt || this.#parts.context.isStopping) return
    clearTimeout(this.#promoteTimer)
    this.#promoteAt = at
    this.#promoteTimer = setTimeout(
      () => {
        this.#promoteAt = Infinity
        void this.#parts.context.tryOrLog(() => this.promote())
      },
      Math.min(ms + 1, maxTimerDelayMs),
    )
    this.#promoteTimer.unref()
  }

  /** Makes delayed jobs due in batches, so that the first ones start early. Then waits for the next one. */
  async promote(): Promise<void> {
    const { context, claimCycle } = this.#parts
    while ((await promoteDelayed(context.table)) === promoteBatchSize) void claimCycle.run()
    await claimCycle.run()
    const nextInMs = await timeUntilNext(context.table)
    if (nextInMs !== undefined) this.#wakeSoon(Math.max(minPromoteDelayMs, nextInMs))
  }

  /** Jobs that are due later than ten polls are found by a later poll. */
  #wakeSoon(nextInMs: number | undefined): void {
    const { poll } = this.#parts.context.options
    if (nextInMs !== undefined && nextInMs < 10 * poll) this.wakeIn(nextInMs)
  }

  /** Removes old rows in batches, to keep transactions short. */
  async sweep(): Promise<void> {
    const { context } = this.#parts
    while ((await sweep(context.table)) === sweepBatchSize) if (context.isStopping) return
    await this.#warnAboutMissingClasses()
  }

  /** Warns once for each name whose waiting jobs have no class in this application. */
  async #warnAboutMissingClasses(): Promise<void> {
    const { table, registry, log } = this.#parts.context
    for (const [name, waiting] of await countDueByName(table)) {
      if (registry.jobs.has(name) || this.#reportedNames.has(name)) continue
      this.#reportedNames.add(name)
      log.warn({ job: name, waiting }, 'jobs wait whose class does not exist in this application')
    }
  }
}
