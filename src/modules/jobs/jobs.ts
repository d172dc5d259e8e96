/** `filigree/jobs`: background jobs that are added in the current transaction and run at least once. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  ApplicationState,
  Clock,
  createModule,
  declareOptions,
  option,
  Database,
  type Gauge,
  type Lifecycle,
  type Class,
  type OptionsOf,
  type ScrapeEvent,
  resetState,
} from '../../index.js'
import { warnUnlistedJobs, readJobs, JobRegistry } from './decorators.js'
import { JobEntry, readQueueMetrics, JobTable, JobReaders } from './job-table.js'
import { Jobs } from './queue.js'
import { WorkerNotifier, type WorkOptions } from './worker-context.js'
import { PartitionUpkeep } from './partition-upkeep.js'
import { Worker } from './worker.js'

export { Cron, Every, Job } from './decorators.js'
export type { CommonOptions, CronOptions, EveryOptions, JobOptions } from './decorators.js'
export type { AddOptions } from './add-jobs.js'
export { JobEntry, type JobState } from './job-table.js'
export { Jobs, type AddedJob, type BodyOf, type ListJobsOptions, type MethodOf } from './queue.js'
export { GiveUp, JobStopped, type RunningJob } from './running-jobs.js'

const jobsOptions = declareOptions({
  /** True: this process runs jobs. False: it only adds them, and `filigree work` runs them. Default false. */
  work: option.flag().default(false),
  /** How many jobs a process runs at the same time. Default 10. */
  concurrency: option.integer(1, undefined, 'Write a number from 1.').default(10),
  /** The roles that may read jobs, as the record `JobEntry`. Default: no client may. */
  roles: option
    .of<string | readonly string[]>(
      isRoles,
      "Write a role or several: 'admin', ['admin', 'support'].",
    )
    .default([]),
  /** How long running jobs may continue when the process closes. Then their `signal` aborts. Default `'10s'`. */
  drain: option.seconds("Write '10s' or seconds.", 0).default('10s'),
  /** How often the database is polled for jobs of other processes, if it does not signal them. Default `'1s'`. */
  poll: option.seconds("Write '1s' or seconds, from 1.").default('1s'),
})

export interface JobsOptions extends OptionsOf<typeof jobsOptions> {}

/** `filigree work`, tests and benchmarks get the runtime by this token. */
const jobsToken = 'filigree.jobs'
/** `filigree work` overrides the options by this token. */
const overridesToken = 'filigree.jobs.overrides'

type WorkOverrides = Partial<WorkOptions> & { readonly work?: boolean }

/** Runs background jobs: `@Module({ providers: [Mail], imports: [jobs({ work: true })] })`. */
export const jobs = createModule(function jobs(options: JobsOptions = {}) {
  const { work, concurrency, roles, drain, poll } = jobsOptions.read(options)
  const settings: WorkOptions = { concurrency, drain: drain * 1000, poll: poll * 1000 }
  const make = (
    state: ApplicationState,
    table: JobTable,
    registry: JobRegistry,
    clock: Clock,
    overrides: WorkOverrides,
    database: Database,
  ): JobsRuntime =>
    new JobsRuntime({
      state,
      table,
      registry,
      clock,
      database,
      work: overrides.work ?? work,
      settings: { ...settings, ...overrides },
    })
  return {
    problems: jobsOptions.findProblems(options, 'jobs'),
    records: [JobEntry],
    roles: [roles].flat(),
    check: (providers: readonly Class[]) => readJobs(providers).problems,
    examine: findJobsWithoutClass,
    providers: [
      JobTable,
      { provide: JobReaders, make: () => new JobReaders([roles].flat()) },
      JobRegistry,
      { provide: overridesToken, use: {} },
      {
        provide: jobsToken,
        make,
        inject: [ApplicationState, JobTable, JobRegistry, Clock, overridesToken, Database],
      },
      { provide: Jobs, make: (runtime: JobsRuntime) => runtime.jobs, inject: [jobsToken] },
    ],
  }
})

/** Reports waiting jobs without a class, for example because a deploy has removed it. */
async function findJobsWithoutClass(
  database: Database,
  providers: readonly Class[],
): Promise<string[]> {
  const knownNames = new Set(readJobs(providers).jobs.map(({ name }) => name))
  const records = database.records(JobEntry)
  const waiting = await records
    .aggregate({ where: { state: 'waiting' }, groupBy: ['name'], count: true })
    // The table does not exist yet.
    .catch(() => [])
  return waiting
    .filter(({ name }) => !knownNames.has(String(name)))
    .map(
      ({ name, count }) =>
        `${count} jobs of ${String(name)} wait, but the application has no class for them`,
    )
}

interface JobsRuntimeParts {
  readonly state: ApplicationState
  readonly table: JobTable
  readonly registry: JobRegistry
  readonly clock: Clock
  readonly database: Database
  readonly settings: WorkOptions
  readonly work: boolean
}

/** Published when metrics are read. */
const scrapeChannel = 'filigree:scrape'

/** The services of the module in an application, and their start and stop. */
class JobsRuntime implements Lifecycle {
  readonly jobs: Jobs
  readonly worker: Worker
  readonly registry: JobRegistry
  readonly table: JobTable
  readonly notifier: WorkerNotifier
  readonly #parts: JobsRuntimeParts
  readonly #partitions: PartitionUpkeep
  readonly #onScrape = (event: unknown): void => {
    const { application, add } = event as ScrapeEvent
    if (application === this.#parts.state) add(this.#readGauges())
  }
  #stopWatchingClock: (() => void) | undefined
  #lastTime: number

  constructor(parts: JobsRuntimeParts) {
    const { state, table, registry, clock, settings, database } = parts
    this.#parts = parts
    this.#partitions = new PartitionUpkeep(database, state.log)
    this.registry = registry
    this.table = table
    this.notifier = new WorkerNotifier({ table, log: state.log })
    const { notifier } = this
    this.worker = new Worker({ table, registry, notifier, state, options: settings })
    this.jobs = new Jobs({ table, registry, notifier, worker: this.worker })
    this.#lastTime = clock.now()
  }

  async onStart(): Promise<void> {
    const { clock, work } = this.#parts
    subscribe(scrapeChannel, this.#onScrape)
    // A process that runs no jobs may leave their classes to another process.
    if (work) warnUnlistedJobs(this.#parts.state)
    if (clock.isMoved) {
      // Tests run jobs explicitly. Schedules count from the start.
      await this.worker.prepare()
      this.#stopWatchingClock = clock.onMove(() => this.#onClockMoved())
    } else if (work) {
      this.#partitions.start()
      await this.worker.start()
    }
  }

  /** If a test moves the clock back, schedules start again from the earlier time. */
  async #onClockMoved(): Promise<void> {
    const now = this.#parts.clock.now()
    const isBack = now < this.#lastTime
    this.#lastTime = now
    if (isBack) await this.worker.resetSchedules(true)
  }

  [resetState](): Promise<void> {
    return this.worker.resetSchedules(false)
  }

  onClosing(): Promise<void> {
    return this.worker.stop()
  }

  async #readGauges(): Promise<Gauge[]> {
    const { waiting, running, oldest } = await readQueueMetrics(this.table)
    return [
      { name: 'jobs_waiting', help: 'Jobs that wait, including delayed ones.', value: waiting },
      { name: 'jobs_running', help: 'Jobs that run, in all processes.', value: running },
      {
        name: 'jobs_oldest_seconds',
        help: 'How long the oldest due job has waited.',
        value: Math.max(0, oldest / 1000),
      },
    ]
  }

  async onStop(): Promise<void> {
    unsubscribe(scrapeChannel, this.#onScrape)
    this.#stopWatchingClock?.()
    await this.#partitions.stop()
    await this.worker.stop()
  }
}

export type { JobsRuntime }

function isRoles(value: unknown): boolean {
  const roles: readonly unknown[] = Array.isArray(value) ? value : [value]
  return roles.every((role) => typeof role === 'string' && role !== '')
}
