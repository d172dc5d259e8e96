/** The shared state of a worker: its jobs and options, retries during an outage, and the notification of new jobs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { AsyncResource } from 'node:async_hooks'
import type { ApplicationState, Log } from '../../index.js'
import type { JobTable, When } from './job-table.js'
import type { RegisteredJob, JobRegistry } from './decorators.js'
import { Schedules } from './schedules.js'

export interface WorkOptions {
  /** How many jobs run at the same time. Default 10. */
  readonly concurrency: number
  /** Milliseconds that running jobs have to end when the process closes. */
  readonly drain: number
  /** Milliseconds between two polls for jobs of other processes. */
  readonly poll: number
  /** The names of jobs or of their classes that this process runs. Undefined: all. */
  readonly only?: readonly string[] | undefined
}

export interface WorkerContextParts {
  readonly table: JobTable
  readonly registry: JobRegistry
  readonly state: ApplicationState
  readonly options: WorkOptions
}

/** Milliseconds before a failed statement is retried. */
const retryDelayMs = 1_000

export class WorkerContext {
  readonly table: JobTable
  readonly registry: JobRegistry
  readonly state: ApplicationState
  readonly log: Log
  /** True: no more jobs are claimed. */
  isStopping = false
  #options: WorkOptions
  #jobs: ReadonlyMap<string, RegisteredJob> | undefined
  #schedules: Schedules | undefined
  #isDatabaseDown = false

  constructor({ table, registry, state, options }: WorkerContextParts) {
    this.table = table
    this.registry = registry
    this.state = state
    this.log = state.log
    this.#options = options
  }

  get options(): WorkOptions {
    return this.#options
  }

  set options(options: WorkOptions) {
    this.#options = options
    this.#jobs = undefined
    this.#schedules = undefined
  }

  /** The jobs that this process runs, by name. */
  get jobs(): ReadonlyMap<string, RegisteredJob> {
    const { only } = this.#options
    this.#jobs ??= new Map(
      [...this.registry.jobs].filter(
        ([name, { owner }]) =>
          only === undefined || only.includes(name) || only.includes(owner.name),
      ),
    )
    return this.#jobs
  }

  get schedules(): Schedules {
    this.#schedules ??= new Schedules(this.table, this.jobs.values())
    return this.#schedules
  }

  /** Runs statements. Logs an error once per outage. @returns undefined if the work failed */
  async tryOrLog<T>(work: () => Promise<T>, message = cannotClaim): Promise<T | undefined> {
    try {
      const done = await work()
      this.#isDatabaseDown = false
      return done
    } catch (err) {
      if (!this.#isDatabaseDown && !this.isStopping) this.log.error({ err }, message)
      this.#isDatabaseDown = true
      return undefined
    }
  }

  /** Retries until the end of a run is stored. Until then its lease is renewed, or another process has the job. */
  async retryUntilStored<T>(store: () => Promise<T>): Promise<T> {
    for (;;) {
      const stored = await this.tryOrLog(async () => [await store()] as const, cannotStore)
      if (stored !== undefined) return stored[0]
      await sleep(retryDelayMs, undefined, { ref: false })
    }
  }
}

const cannotClaim = 'jobs cannot be claimed: the database failed'
const cannotStore = 'the end of a job cannot be stored: retrying'

/** The name of the database signal. */
export const jobsSignal = 'jobs'

/** The shortest time between two signals, in milliseconds. */
const minSignalIntervalMs = 10

export interface WorkerNotifierParts {
  readonly table: JobTable
  readonly log: Log
}

/** The worker of this process. */
export interface LocalWorker {
  /** True if a job of this name can start now. Undefined: any job. */
  hasCapacity(name: string | undefined): boolean
  wake(): void
  /** Requests a claim cycle in this many milliseconds. */
  wakeIn(ms: number): void
}

/**
 * Notifies workers of new jobs: the worker of this process immediately, others by a signal of the database. This happens outside
 * the request and the transaction that add the job. Otherwise the worker would inherit their context, and PostgreSQL
 * serializes the commits of transactions that notify.
 */
export class WorkerNotifier {
  readonly #parts: WorkerNotifierParts
  /** Created at the start, outside any request. */
  readonly #outsideRequests = new AsyncResource('filigree.jobs')
  readonly #dueNames = new Set<string | undefined>()
  #soonestDelay: number | undefined
  #isFlushScheduled = false
  #lastSignalAt = -Infinity
  #isSignalScheduled = false
  worker: LocalWorker | undefined
  /** Set by tests: runs due jobs before the caller continues. */
  runInline: (() => Promise<unknown>) | undefined

  constructor(parts: WorkerNotifierParts) {
    this.#parts = parts
  }

  /** Reports a job that was added or retried, once the open transaction is committed. */
  jobAdded(name: string | undefined, when: When): Promise<unknown> | undefined {
    const open = this.#parts.table.database.openTransaction()
    const { runInline } = this
    if (runInline !== undefined) {
      if (open === undefined) return runInline()
      open.committed(async () => {
        await runInline()
      })
    } else if (open === undefined) this.#notify(name, when)
    else
      open.onCommit(() => {
        this.#notify(name, when)
      })
    return undefined
  }

  /** Runs work outside the caller's request and transaction. */
  runOutsideRequest<T>(work: () => T): T {
    return this.#outsideRequests.runInAsyncScope(work)
  }

  #notify(name: string | undefined, when: When): void {
    const wait =
      when.kind === 'now'
        ? 0
        : when.kind === 'in'
          ? when.ms
          : when.at.getTime() - this.#parts.table.now
    if (wait <= 0) this.#dueNames.add(name)
    else if (wait < (this.#soonestDelay ?? Infinity)) this.#soonestDelay = wait
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    this.runOutsideRequest(() => setImmediate(this.#flush))
  }

  readonly #flush = (): void => {
    this.#isFlushScheduled = false
    const names = [...this.#dueNames]
    this.#dueNames.clear()
    const soonestDelay = this.#soonestDelay
    this.#soonestDelay = undefined
    const { worker } = this
    if (soonestDelay !== undefined) worker?.wakeIn(soonestDelay)
    if (names.length === 0) return
    const needsOtherProcesses =
      worker === undefined || names.some((name) => !worker.hasCapacity(name))
    worker?.wake()
    if (needsOtherProcesses) this.#signal()
  }

  /** Signals other processes immediately, and then at most once per interval. */
  #signal(): void {
    if (this.#isSignalScheduled) return
    const wait = this.#lastSignalAt + minSignalIntervalMs - performance.now()
    if (wait > 0) {
      this.#isSignalScheduled = true
      setTimeout(() => {
        this.#isSignalScheduled = false
        this.#signal()
      }, wait).unref()
      return
    }
    this.#lastSignalAt = performance.now()
    const { table, log } = this.#parts
    table.database.signal(jobsSignal).catch((err: unknown) => {
      // Other processes find the job by polling.
      log.debug({ err }, 'other processes could not be notified of a job')
    })
  }
}
