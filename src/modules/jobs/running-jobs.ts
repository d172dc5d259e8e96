/** The jobs that run in this process: the `RunningJob` argument of a method, free slots, and timeouts. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildLog, Log, JobEvent } from '../../index.js'
import type { ClaimedJob } from './job-table.js'
import type { RegisteredJob } from './decorators.js'

/** The second argument of a job method: the current run. */
export interface RunningJob {
  readonly id: number
  /** `Mail.welcome` */
  readonly name: string
  /** From 1. */
  readonly attempt: number
  /** When the run was due. */
  readonly runAt: Date
  /**
   * Aborts when the timeout is over, when the job is cancelled, when the process closes, and when another process has taken over
   * the job. Stop then: another run may already be doing the same work.
   */
  readonly signal: AbortSignal
  /** Stores the progress, for `jobs.find` and admin pages. @param done from 0 to 1 */
  progress(done: number, text?: string): Promise<void>
  /** The application's log. Its lines have the job's name, id and attempt. */
  readonly log: ChildLog
}

/** Throw it to fail the job immediately, without further retries. */
export class GiveUp extends Error {
  override readonly name = 'GiveUp'
}

/** True for `GiveUp` of any copy of the package. */
export function isGiveUp(error: unknown): boolean {
  return error instanceof Error && error.name === 'GiveUp'
}

/** The reason of an aborted `signal`. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped'
  readonly why: 'timeout' | 'cancelled' | 'closing' | 'lost'

  constructor(why: JobStopped['why']) {
    super(stopMessages[why])
    this.why = why
  }
}

const stopMessages: Readonly<Record<JobStopped['why'], string>> = {
  timeout: 'The run exceeded its time.',
  cancelled: 'The job was cancelled.',
  closing: 'The process closes.',
  lost: 'The lease was lost: another run may have begun.',
}

interface JobRunParts {
  readonly claimed: ClaimedJob
  readonly log: Log
  readonly storeProgress: (progress: {
    readonly done: number
    readonly text: string | null
  }) => Promise<void>
}

export class JobRun implements RunningJob {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly runAt: Date
  readonly #parts: JobRunParts
  #controller: AbortController | undefined
  #log: JobLog | undefined
  /** Set once the run was requested to stop. */
  stopped: JobStopped | undefined

  constructor(parts: JobRunParts) {
    const { id, name, attempt, runAt } = parts.claimed
    this.id = id
    this.name = name
    this.attempt = attempt
    this.runAt = new Date(runAt)
    this.#parts = parts
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.stopped !== undefined) this.#controller.abort(this.stopped)
    }
    return this.#controller.signal
  }

  get log(): ChildLog {
    this.#log ??= new JobLog(this.#parts.log, logFields(this.#parts.claimed))
    return this.#log
  }

  async progress(done: number, text?: string): Promise<void> {
    if (typeof done !== 'number' || !(done >= 0 && done <= 1))
      throw new TypeError(`job.progress: ${String(done)} is not a number from 0 to 1.`)
    await this.#parts.storeProgress({ done, text: text?.slice(0, 1000) ?? null })
  }

  /** Aborts the signal. Only the first call has an effect. */
  stop(why: JobStopped['why']): void {
    if (this.stopped !== undefined) return
    this.stopped = new JobStopped(why)
    this.#controller?.abort(this.stopped)
  }
}

/** The log fields of a run. */
export function logFields({
  id,
  name,
  attempt,
}: Pick<ClaimedJob, 'id' | 'name' | 'attempt'>): object {
  return { job: name, jobId: id, attempt }
}

class JobLog implements ChildLog {
  readonly #log: Log
  readonly #fields: object

  constructor(log: Log, fields: object) {
    this.#log = log
    this.#fields = fields
  }

  readonly error = this.#writer('error')
  readonly warn = this.#writer('warn')
  readonly info = this.#writer('info')
  readonly debug = this.#writer('debug')

  child(fields: object): ChildLog {
    return new JobLog(this.#log, { ...this.#fields, ...fields })
  }

  #writer(level: 'error' | 'warn' | 'info' | 'debug') {
    return (details: object | string, message = ''): void => {
      if (typeof details === 'string') this.#log[level](this.#fields, details)
      else {
        const more = details instanceof Error ? { err: details } : details
        this.#log[level]({ ...this.#fields, ...more }, message)
      }
    }
  }
}

/** A run in this process. */
export interface ActiveRun {
  readonly claimed: ClaimedJob
  readonly job: RegisteredJob
  readonly run: JobRun
  /** By `performance.now()`, as `timeoutAt`. */
  readonly startedAt: number
  /** When the timeout is over. After a request to stop: when the grace period is over. */
  timeoutAt: number
  /** True once the outcome is decided. */
  hasEnded: boolean
  /** Undefined without subscribers. */
  readonly event: JobEvent | undefined
}

/** Timers allow at most 2^31 ms. */
const maxTimerDelayMs = 3_600_000

export class RunningJobs {
  readonly #byId = new Map<number, ActiveRun>()
  readonly #byName = new Map<string, number>()
  readonly #onTimeout: (running: ActiveRun) => void
  #idleWaiters: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity

  /** @param onTimeout is called with runs whose timeout is over */
  constructor(onTimeout: (running: ActiveRun) => void) {
    this.#onTimeout = onTimeout
  }

  get size(): number {
    return this.#byId.size
  }

  get all(): Iterable<ActiveRun> {
    return this.#byId.values()
  }

  find(id: number): ActiveRun | undefined {
    return this.#byId.get(id)
  }

  /** How many more runs of this job may start in this process. */
  capacityFor({ name, concurrency }: RegisteredJob): number {
    return concurrency - (this.#byName.get(name) ?? 0)
  }

  add(running: ActiveRun): void {
    const { id, name } = running.claimed
    this.#byId.set(id, running)
    this.#byName.set(name, (this.#byName.get(name) ?? 0) + 1)
    this.watchTimeout(running)
  }

  /** @returns false if it was already removed */
  remove(running: ActiveRun): boolean {
    const { id, name } = running.claimed
    if (this.#byId.get(id) !== running) return false
    this.#byId.delete(id)
    this.#byName.set(name, (this.#byName.get(name) ?? 1) - 1)
    if (this.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
    return true
  }

  /** One timer serves all runs. It is set to the earliest timeout. */
  watchTimeout({ timeoutAt }: ActiveRun): void {
    if (timeoutAt >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = timeoutAt
    const wait = Math.min(maxTimerDelayMs, Math.max(1, timeoutAt - performance.now()))
    this.#timer = setTimeout(this.#checkTimeouts, wait)
    this.#timer.unref()
  }

  readonly #checkTimeouts = (): void => {
    this.#timerAt = Infinity
    const now = performance.now()
    for (const running of [...this.all]) {
      if (running.timeoutAt <= now && !running.hasEnded) this.#onTimeout(running)
      if (!running.hasEnded) this.watchTimeout(running)
    }
  }

  /** Resolves once nothing runs. */
  whenIdle(): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  /** @returns false if jobs still run after this many milliseconds */
  async idleWithin(ms: number): Promise<boolean> {
    if (this.size === 0) return true
    const abort = new AbortController()
    const timeout = sleep(ms, false, { signal: abort.signal }).catch(() => false)
    const isIdle = await Promise.race([this.whenIdle().then(() => true), timeout])
    abort.abort()
    return isIdle
  }
}
