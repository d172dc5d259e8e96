/**
 * Runs claimed jobs: calls the method, stops it, and stores how it ended. `LeaseRenewer` keeps the leases of running jobs. The
 * claim cycle stores successful runs of added jobs; all other ends are stored here.
 */
import { checkBody } from './add-jobs.js'
import {
  storeUnsuccessfulEnd,
  returnToQueue,
  storeProgress,
  type UnsuccessfulEnd,
  finishAndClaim,
  leaseStatements,
  recoverExpired,
} from './worker-statements.js'
import {
  RunningJobs,
  type ActiveRun,
  logFields,
  GiveUp,
  isGiveUp,
  JobRun,
  type JobStopped,
} from './running-jobs.js'
import type { RegisteredJob } from './decorators.js'
import {
  stopGraceMs,
  type ClaimedJob,
  renewalIntervalMs,
  toRecoveredJob,
  type RecoveredJob,
  type RunClaim,
} from './job-table.js'
import {
  WorkChannel,
  type JobEvent,
  type JobOutcome,
  type Heartbeat,
  type SqlRow,
} from '../../index.js'
import type { WorkerContext } from './worker-context.js'

/** Metrics and traces read these events. They never contain bodies. */
const jobEvents = new WorkChannel<JobEvent>('filigree:job')

const maxBackoffMs = 3_600_000
/** Characters of an error that are stored. */
const maxErrorCharacters = 8_000

interface JobRunnerParts {
  readonly context: WorkerContext
  /** Stored in the rows of the jobs that this worker runs. */
  readonly worker: string
  /** Called with a successful run, which must be stored. */
  readonly onSuccess: (running: ActiveRun) => void
  /** Called when a slot is free outside a claim cycle. */
  readonly onSlotFree: () => void
  /** Requests a claim cycle in this many milliseconds. */
  readonly wakeIn: (ms: number) => void
}

export class JobRunner {
  readonly runningJobs: RunningJobs
  readonly #parts: JobRunnerParts

  constructor(parts: JobRunnerParts) {
    this.#parts = parts
    this.runningJobs = new RunningJobs((running) => {
      const { stopped } = running.run
      if (stopped === undefined) this.stop(running, 'timeout')
      else this.#handleFailure(running, stopped)
    })
  }

  start(claimed: ClaimedJob, job: RegisteredJob): void {
    const { context, worker } = this.#parts
    const run = new JobRun({
      claimed,
      log: context.log,
      storeProgress: async (progress) => {
        if (!(await storeProgress(context.table, worker, claimed, progress))) this.lose(running)
      },
    })
    const startedAt = performance.now()
    const event = jobEvents.hasSubscribers ? this.#createEvent(claimed) : undefined
    const timeoutAt = startedAt + job.timeout
    const running: ActiveRun = {
      claimed,
      job,
      run,
      startedAt,
      timeoutAt,
      hasEnded: false,
      event,
    }
    this.runningJobs.add(running)
    if (event === undefined) this.#call(running)
    else
      jobEvents.begin(event, () => {
        this.#call(running)
      })
  }

  #createEvent({ id, name, attempt, trace }: ClaimedJob): JobEvent {
    const application = this.#parts.context.state
    return {
      application,
      job: name,
      id,
      attempt,
      trace: trace ?? undefined,
      ms: 0,
      error: undefined,
      outcome: undefined,
    }
  }

  #call(running: ActiveRun): void {
    const { claimed, job, run } = running
    if (job.check !== undefined) {
      this.#endWith(running, this.#callWithCheckedBody(running))
      return
    }
    try {
      if (job.schedule !== undefined) this.#endWith(running, job.call(run))
      else {
        const body = claimed.body === null ? undefined : readBody(claimed.body)
        this.#endWith(running, job.call(body, run))
      }
    } catch (error) {
      this.#handleFailure(running, error)
    }
  }

  async #callWithCheckedBody({ claimed, job, run }: ActiveRun): Promise<unknown> {
    let body: unknown
    try {
      body = await checkBody(claimed.name, job, claimed.body)
    } catch (error) {
      throw new GiveUp((error as Error).message, { cause: error })
    }
    return job.call(body, run)
  }

  #endWith(running: ActiveRun, returned: unknown): void {
    if (
      typeof (returned as Partial<PromiseLike<unknown>> | null | undefined)?.then !== 'function'
    ) {
      this.#handleSuccess(running)
      return
    }
    Promise.resolve(returned).then(
      () => {
        this.#handleSuccess(running)
      },
      (error: unknown) => {
        this.#handleFailure(running, error)
      },
    )
  }

  #handleSuccess(running: ActiveRun): void {
    if (running.hasEnded) return
    running.hasEnded = true
    if (running.job.schedule === undefined) this.#parts.onSuccess(running)
    else void this.#storeScheduled(running)
  }

  async #storeScheduled(running: ActiveRun): Promise<void> {
    const { context, worker } = this.#parts
    const { claimed } = running
    const wasOwned = await context.retryUntilStored(() =>
      this.#storeWithNextRun(running, async () => {
        const { doneIds } = await finishAndClaim(context.table, worker, [claimed], [noClaims], 0)
        return doneIds.has(claimed.id)
      }),
    )
    this.release(running, wasOwned ? 'done' : 'lost')
    this.#parts.onSlotFree()
  }

  /** Stores the end of a scheduled run and adds the next one, in one transaction. */
  #storeWithNextRun(
    { job, claimed }: ActiveRun,
    storeEnd: () => Promise<boolean>,
  ): Promise<boolean> {
    const { table, schedules } = this.#parts.context
    return table.database.transaction(
      async () => {
        const wasOwned = await storeEnd()
        if (wasOwned) await schedules.addNext(job, claimed)
        return wasOwned
      },
      { isolation: 'read committed' },
    )
  }

  #handleFailure(running: ActiveRun, error: unknown): void {
    if (running.hasEnded) return
    running.hasEnded = true
    void this.#storeFailure(running, error)
  }

  async #storeFailure(running: ActiveRun, thrown: unknown): Promise<void> {
    const { context, worker, wakeIn } = this.#parts
    // Jobs may throw anything, also values that throw when they are read.
    const error = context.state.redactError(thrown)
    const { claimed, run, job } = running
    const { table } = context
    const reason = run.stopped?.why
    if (reason === 'closing') {
      const wasOwned = await context.retryUntilStored(() => returnToQueue(table, worker, claimed))
      this.release(running, wasOwned ? 'given back' : 'lost')
      return
    }
    const isFinal = isGiveUp(error) || claimed.attempt > claimed.retries
    const state = reason === 'cancelled' ? 'cancelled' : isFinal ? 'failed' : 'waiting'
    const ending = {
      state,
      delayMs: retryDelay(claimed),
      ...describeError(claimed.attempt, error),
    } as const
    const storeEnd = (): Promise<boolean> => storeUnsuccessfulEnd(table, worker, claimed, ending)
    const wasOwned = await context.retryUntilStored(() =>
      job.schedule !== undefined && state !== 'waiting'
        ? this.#storeWithNextRun(running, storeEnd)
        : storeEnd(),
    )
    if (!wasOwned) {
      this.release(running, 'lost')
      return
    }
    if (state === 'waiting') wakeIn(ending.delayMs)
    this.#logFailure(claimed, error, state)
    if (running.event !== undefined) running.event.error = thrown
    this.release(running, state === 'waiting' ? 'again' : state)
  }

  #logFailure(claimed: ClaimedJob, error: unknown, state: UnsuccessfulEnd['state']): void {
    const { log } = this.#parts.context
    const details = { ...logFields(claimed), err: error }
    if (state === 'failed') log.error(details, 'a job failed')
    else if (state === 'waiting') log.warn(details, 'a job failed and will run again')
    else log.info(logFields(claimed), 'a job was cancelled')
  }

  /** Frees the job's slot and reports the outcome. */
  release(running: ActiveRun, outcome: JobOutcome): void {
    if (!this.runningJobs.remove(running)) return
    if (outcome === 'lost')
      this.#parts.context.log.warn(
        logFields(running.claimed),
        'this process lost the lease of a job while it ran: the job runs again',
      )
    const { event } = running
    if (event !== undefined) {
      event.outcome = outcome
      jobEvents.finish(event, running.startedAt)
    }
    if (outcome !== 'done') this.#parts.onSlotFree()
  }

  /** Aborts the signal of a run. A run that does not stop within the grace period counts as ended. */
  stop(running: ActiveRun, why: JobStopped['why']): void {
    const { run } = running
    if (running.hasEnded || run.stopped !== undefined) return
    run.stop(why)
    // While closing, the worker returns the job to the queue; after a lost lease, another process decides.
    running.timeoutAt = why === 'closing' ? Infinity : performance.now() + stopGraceMs
    this.runningJobs.watchTimeout(running)
  }

  /** Ends a run whose lease another process has. */
  lose(running: ActiveRun): void {
    if (running.hasEnded) return
    running.run.stop('lost')
    running.hasEnded = true
    this.release(running, 'lost')
  }

  /** Returns the jobs to the queue that have not stopped before the process ends. */
  async returnAllToQueue(): Promise<void> {
    const { context, worker } = this.#parts
    for (const running of [...this.runningJobs.all]) {
      if (running.hasEnded) continue
      running.hasEnded = true
      await returnToQueue(context.table, worker, running.claimed).catch((err: unknown) => {
        const details = { ...logFields(running.claimed), err }
        context.log.warn(details, 'a job could not be returned to the queue: its lease will expire')
      })
      this.release(running, 'given back')
    }
  }
}

/** For a statement that claims nothing. */
const noClaims = { name: '', maxJobs: 0, timeout: 0 }

/** @throws {GiveUp} the body is not JSON, so something else has written the row */
function readBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new GiveUp('The body is not valid JSON.', { cause })
  }
}

/** Doubles with each attempt, and is up to 15 % shorter by chance. */
function retryDelay({ backoff, attempt }: ClaimedJob): number {
  const delayMs = Math.min(maxBackoffMs, backoff * 2 ** (attempt - 1))
  return Math.round(delayMs * (0.85 + 0.15 * Math.random()))
}

function describeError(
  attempt: number,
  error: Error,
): Pick<UnsuccessfulEnd, 'error' | 'errorLine'> {
  const message = toStorableText(error.message).slice(0, 2000)
  const stack = toStorableText(error.stack ?? message).slice(0, maxErrorCharacters)
  return { error: stack, errorLine: `${JSON.stringify({ attempt, message, stack })}\n` }
}

/** Databases refuse the character NUL and lone surrogates. */
function toStorableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', '')).toString()
}

export interface LeaseRenewerParts {
  readonly context: WorkerContext
  readonly worker: string
  readonly runner: JobRunner
  /** Requests a claim cycle. */
  readonly wake: () => void
  /** Resolves when the current claim cycle has started the jobs that it claimed. */
  readonly whenClaimed: () => Promise<void>
}

export class LeaseRenewer {
  readonly #parts: LeaseRenewerParts
  #heartbeat: Heartbeat | undefined
  #lastHeartbeatAt = -Infinity
  /** The last heartbeat failed, which is logged once. */
  #isFailing = false

  constructor(parts: LeaseRenewerParts) {
    this.#parts = parts
  }

  /** Starts the heartbeat thread, which runs while jobs run. */
  start(): void {
    if (this.#heartbeat !== undefined) return
    this.#lastHeartbeatAt = -Infinity
    const { context, worker } = this.#parts
    const { table, log } = context
    this.#heartbeat = table.database.heartbeat(leaseStatements(table, worker), {
      every: renewalIntervalMs,
      onRows: (rows) => {
        this.#isFailing = false
        this.#handleHeartbeat(rows)
      },
      onError: (err) => {
        if (!this.#isFailing) log.warn({ err }, 'the leases of running jobs could not be renewed')
        this.#isFailing = true
      },
    })
  }

  async stop(): Promise<void> {
    const heartbeat = this.#heartbeat
    this.#heartbeat = undefined
    await heartbeat?.stop()
  }

  /** Recovers the expired leases of other processes. */
  async recover(): Promise<void> {
    this.#reportRecovered(await recoverExpired(this.#parts.context.table))
  }

  #handleHeartbeat([renewed = [], , recovered = []]: readonly (readonly SqlRow[])[]): void {
    const { runner } = this.#parts
    const renewedById = new Map(renewed.map((row) => [Number(row[0]), row]))
    const previousHeartbeatAt = this.#lastHeartbeatAt
    this.#lastHeartbeatAt = performance.now()
    for (const running of [...runner.runningJobs.all]) {
      const [, claims, isCancelled] = renewedById.get(running.claimed.id) ?? []
      if (Number(claims) === running.claimed.claims) {
        renewedById.delete(running.claimed.id)
        if (Number(isCancelled) === 1) runner.stop(running, 'cancelled')
        // The thread may have read the rows before this job was claimed.
      } else if (running.startedAt < previousHeartbeatAt) runner.lose(running)
    }
    const unknown = [...renewedById].map(([id, row]) => ({ id, claims: Number(row[1]) }))
    if (unknown.length > 0) void this.#returnToQueue(unknown)
    this.#reportRecovered(recovered.map(toRecoveredJob))
    // The next job starts it again.
    if (runner.runningJobs.size === 0) void this.stop()
  }

  /** Whether this process runs the job, or has not stored its end yet. */
  #isKnown({ id, claims }: RunClaim): boolean {
    const { all } = this.#parts.runner.runningJobs
    return [...all].some(({ claimed }) => claimed.id === id && claimed.claims === claims)
  }

  /** Returns jobs that this process claimed without learning it: the database committed, and the response was lost. */
  async #returnToQueue(claims: readonly RunClaim[]): Promise<void> {
    const { context, worker, wake, whenClaimed } = this.#parts
    await whenClaimed()
    for (const claim of claims) {
      if (this.#isKnown(claim)) continue
      const { id: jobId } = claim
      // False if the job has ended since the heartbeat.
      const wasReturned = await context.tryOrLog(() => returnToQueue(context.table, worker, claim))
      if (wasReturned !== true) continue
      context.log.warn(
        { jobId },
        'a claimed job did not reach this process: it is in the queue again',
      )
      wake()
    }
  }

  #reportRecovered(recovered: readonly RecoveredJob[]): void {
    if (recovered.length === 0) return
    const { context, wake } = this.#parts
    for (const job of recovered) {
      const consequence = job.state === 'waiting' ? 'it will run again' : `it is ${job.state}`
      const details = { ...logFields(job), state: job.state }
      context.log.warn(details, `the lease of a job expired: ${consequence}`)
    }
    wake()
    const isScheduled = ({ name, state }: RecoveredJob): boolean =>
      state !== 'waiting' && context.jobs.get(name)?.schedule !== undefined
    if (recovered.some(isScheduled)) void context.tryOrLog(() => context.schedules.sync())
  }
}
