/**
 * `filigree/jobs`: work for later, in the transaction that asks for it, run at least once. Source: decisions, "Third
 * storey: jobs".
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  ApplicationState,
  Clock,
  createModule,
  readSeconds,
  rejectUnknownOptions,
  type Database,
  type Gauge,
  type Lifecycle,
  type Problem,
  type ScrapeEvent,
  resetState,
} from '../../index.js'
import { findUnlistedJobs, readJobs, type Class, Registry } from './decorators.js'
import { JobEntry, figures, JobTable, Readers } from './job-table.js'
import { Jobs } from './queue.js'
import { Wakes, type WorkOptions } from './worker-context.js'
import { Worker } from './worker.js'

export { Cron, Every, Job } from './decorators.js'
export type { CommonOptions, CronOptions, EveryOptions, JobOptions } from './decorators.js'
export type { AddOptions } from './add-jobs.js'
export { JobEntry, type JobState } from './job-table.js'
export { Jobs, type AddedJob, type BodyOf, type ListJobsOptions, type MethodOf } from './queue.js'
export { GiveUp, JobStopped, type RunningJob } from './running-jobs.js'

export interface JobsOptions {
  /** True: this process runs jobs. False: it adds them, and `filigree work` runs them. Default false. */
  work?: boolean
  /** How many jobs of all kinds run at once in a process. Default 10. */
  concurrency?: number
  /** Roles of clients that may read jobs, by the record `JobEntry`. Default: no client may. */
  roles?: string | readonly string[]
  /** How long running jobs may go on when the process closes; then their `signal` aborts. Default `'10s'`. */
  drain?: number | string
  /** How often jobs of other processes are looked for where the database does not tell of them. Default `'1s'`. */
  poll?: number | string
}

const optionNames: Readonly<Record<keyof JobsOptions, true>> = {
  work: true,
  concurrency: true,
  roles: true,
  drain: true,
  poll: true,
}

/** What `filigree work` and tests ask for by name. */
const jobsToken = 'filigree.jobs'
/** What `filigree work` says otherwise than the options. */
const askedToken = 'filigree.jobs.asked'

type AskedWork = Partial<WorkOptions> & { readonly work?: boolean }

/** Jobs: `@Module({ providers: [Mail], imports: [jobs({ work: true })] })`. */
export const jobs = createModule(function jobs(options: JobsOptions = {}) {
  const problems = findProblems(options)
  const { work = false, concurrency = 10, roles = [], drain = '10s', poll = '1s' } = options
  const settings: WorkOptions = {
    concurrency: problems.length > 0 ? 1 : concurrency,
    drain: (drain === 0 ? 0 : (readSeconds(drain) ?? 1)) * 1000,
    poll: (readSeconds(poll) ?? 1) * 1000,
  }
  const make = (
    state: ApplicationState,
    table: JobTable,
    registry: Registry,
    clock: Clock,
    asked: AskedWork,
  ): JobsHome =>
    new JobsHome({
      ...{ state, table, registry, clock },
      work: asked.work ?? work,
      settings: { ...settings, ...asked },
    })
  return {
    problems,
    records: [JobEntry],
    check: (providers: readonly Class[]) => {
      const found: Problem[] = []
      readJobs(providers, found)
      return [...found, ...findUnlistedJobs(providers)]
    },
    examine: findLacking,
    providers: [
      JobTable,
      { provide: Readers, make: () => new Readers([roles].flat()) },
      Registry,
      { provide: askedToken, use: {} },
      {
        provide: jobsToken,
        make,
        inject: [ApplicationState, JobTable, Registry, Clock, askedToken],
      },
      { provide: Jobs, make: (home: JobsHome) => home.jobs, inject: [jobsToken] },
    ],
  }
})

/** Jobs that wait and whose class no process can have: a deploy has dropped it. */
async function findLacking(database: Database, providers: readonly Class[]): Promise<string[]> {
  const known = new Set(readJobs(providers, []).map(({ name }) => name))
  const records = database.records(JobEntry)
  const waiting = await records
    .aggregate({ where: { state: 'waiting' }, groupBy: ['name'], count: true })
    // There is no table yet.
    .catch(() => [])
  return waiting
    .filter(({ name }) => !known.has(String(name)))
    .map(
      ({ name, count }) =>
        `${count} jobs of ${String(name)} wait, which no class of the application has`,
    )
}

interface HomeParts {
  readonly state: ApplicationState
  readonly table: JobTable
  readonly registry: Registry
  readonly clock: Clock
  readonly settings: WorkOptions
  readonly work: boolean
}

/** Where figures are asked for. */
const scrapes = 'filigree:scrape'

/** What the module consists of in an application, and when it starts and stops. */
class JobsHome implements Lifecycle {
  readonly jobs: Jobs
  readonly worker: Worker
  readonly registry: Registry
  readonly table: JobTable
  readonly wakes: Wakes
  readonly #parts: HomeParts
  readonly #scraped = (event: unknown): void => {
    const { application, add } = event as ScrapeEvent
    if (application === this.#parts.state) add(this.#gauges())
  }
  #endWatch: (() => void) | undefined
  #last: number

  constructor(parts: HomeParts) {
    const { state, table, registry, clock, settings } = parts
    this.#parts = parts
    this.registry = registry
    this.table = table
    this.wakes = new Wakes({ table, log: state.log })
    const { wakes } = this
    this.worker = new Worker({ table, registry, wakes, state, options: settings })
    this.jobs = new Jobs({ table, registry, wakes, worker: this.worker })
    this.#last = clock.now()
  }

  async onStart(): Promise<void> {
    const { clock, work } = this.#parts
    subscribe(scrapes, this.#scraped)
    if (clock.isMoved) {
      // A test asks for each run; its schedules count from the start.
      await this.worker.prepare()
      this.#endWatch = clock.onMove(() => this.#moved())
    } else if (work) await this.worker.start()
  }

  /** What goes by the clock counts anew from an earlier time. */
  async #moved(): Promise<void> {
    const now = this.#parts.clock.now()
    const isBack = now < this.#last
    this.#last = now
    if (isBack) await this.worker.reset(true)
  }

  [resetState](): Promise<void> {
    return this.worker.reset(false)
  }

  onClosing(): Promise<void> {
    return this.worker.stop()
  }

  async #gauges(): Promise<Gauge[]> {
    const { waiting, running, oldest } = await figures(this.table)
    return [
      { name: 'jobs_waiting', help: 'Jobs that wait, for their time too.', value: waiting },
      { name: 'jobs_running', help: 'Jobs that run, in all processes.', value: running },
      {
        name: 'jobs_oldest_seconds',
        help: 'How long the oldest job waits that could run.',
        value: Math.max(0, oldest / 1000),
      },
    ]
  }

  async onStop(): Promise<void> {
    unsubscribe(scrapes, this.#scraped)
    this.#endWatch?.()
    await this.worker.stop()
  }
}

export type { JobsHome }

function findProblems(options: JobsOptions): Problem[] {
  const { work, concurrency, roles, drain, poll } = options as Readonly<Record<string, unknown>>
  const problems = rejectUnknownOptions(options, Object.keys(optionNames), 'jobs')
  const refuse = (name: string, value: unknown, remedy: string): void => {
    problems.push({
      code: 'INVALID_OPTION',
      message: `jobs: ${name} is ${JSON.stringify(value)}.`,
      remedy,
    })
  }
  if (work !== undefined && typeof work !== 'boolean') refuse('work', work, 'Write true or false.')
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || Number(concurrency) < 1))
    refuse('concurrency', concurrency, 'Write a number from 1.')
  if (drain !== undefined && drain !== 0 && readSeconds(drain) === undefined)
    refuse('drain', drain, "Write '10s' or seconds.")
  if (poll !== undefined && readSeconds(poll) === undefined)
    refuse('poll', poll, "Write '1s' or seconds, from 1.")
  const names = [roles ?? []].flat() as unknown[]
  if (!names.every((role) => typeof role === 'string' && role !== ''))
    refuse('roles', roles, "Write a role or several: 'admin', ['admin', 'support'].")
  return problems
}
