/** The service `Jobs`: adds jobs, lists them, and cancels or retries them. */
import {
  declareOptions,
  option,
  pendingWork,
  type Class,
  type OptionsOf,
  type Repository,
} from '../../index.js'
import { addRow, addRows, findActiveJob, readWhen, toNewJob, type AddOptions } from './add-jobs.js'
import type { RegisteredJob, JobRegistry } from './decorators.js'
import {
  JobEntry,
  jobStates,
  type JobState,
  type JobTable,
  cancelRow,
  countStates,
  retryRow,
  type NewJob,
  type When,
} from './job-table.js'
import type { WorkerNotifier } from './worker-context.js'
import type { Worker } from './worker.js'

/** The result of `add`. */
export interface AddedJob {
  readonly id: number
  /** False: a waiting or running job has the same `unique` key, and `id` is the id of that job. */
  readonly added: boolean
}

const listOptions = declareOptions({
  name: option.text("Write the name of a job: 'Mail.welcome'."),
  state: option.oneOf(...jobStates).shown(),
  /** Default 50, at most 1,000. */
  limit: option.integer(1, 1000, 'Write a number from 1 to 1,000.').default(50),
  /** Returns jobs older than this id: the last id of the previous page. */
  // An invalid id matches no job.
  after: option.any<number>(),
})

export interface ListJobsOptions extends OptionsOf<typeof listOptions> {}

/** The names of the methods of a class. */
export type MethodOf<T> = {
  [Name in keyof T & string]: T[Name] extends (...args: never[]) => unknown ? Name : never
}[keyof T & string]

/** The body that a job method takes. */
export type BodyOf<T, Method extends keyof T> = T[Method] extends (
  body: infer Body,
  ...rest: never[]
) => unknown
  ? BodyInput<Body>
  : undefined

/** A body as it is passed to `add`: an object with the properties of its class, without methods. */
type BodyInput<Body> = Body extends object
  ? { readonly [Name in keyof Body as Body[Name] extends JobFunction ? never : Name]: Body[Name] }
  : Body
type JobFunction = (...args: never[]) => unknown

interface JobsParts {
  readonly table: JobTable
  readonly registry: JobRegistry
  readonly notifier: WorkerNotifier
  readonly worker: Worker
}

/** Adds and manages jobs. Inject it: `static inject = [Jobs]`. */
export class Jobs {
  readonly #parts: JobsParts

  /** Provided by `jobs()`. */
  constructor(parts: JobsParts) {
    this.#parts = parts
  }

  /**
   * Adds a job, in the open transaction if there is one. The job exists once the transaction is committed, and runs at least once.
   *
   * @throws {TypeError} the body is invalid, or an option is unknown
   */
  async add<T extends object, Method extends MethodOf<T>>(
    type: Class<T>,
    method: Method,
    body?: BodyOf<T, Method>,
    options: AddOptions = {},
  ): Promise<AddedJob> {
    const where = `jobs.add of ${type.name}.${method}`
    const when = readWhen(where, options)
    const job = this.#parts.registry.find(type, method)
    return this.#addOne(job, await toNewJob(where, job, body, options), when)
  }

  /** Adds a job for each body, all or none. @returns one entry per body, in order */
  async addMany<T extends object, Method extends MethodOf<T>>(
    type: Class<T>,
    method: Method,
    bodies: Iterable<BodyOf<T, Method>>,
    options: AddOptions = {},
  ): Promise<AddedJob[]> {
    const where = `jobs.addMany of ${type.name}.${method}`
    const when = readWhen(where, options)
    const { registry, table, notifier } = this.#parts
    const job = registry.find(type, method)
    const newJobs: NewJob[] = []
    for (const body of bodies) newJobs.push(await toNewJob(where, job, body, options))
    if (newJobs.length === 0) return []
    if (options.unique !== undefined)
      return table.database.transaction(() => this.#addEach(job, newJobs, when), readCommitted)
    const ids = await addRows(table, newJobs, when)
    await notifier.jobAdded(job.name, when)
    return ids.map((id) => ({ id, added: true }))
  }

  /** @returns undefined if the job does not exist or was removed */
  async find(id: number): Promise<JobEntry | undefined> {
    return isId(id) ? ((await this.#records.find(id)) ?? undefined) : undefined
  }

  /** Lists jobs, the newest first. */
  list(options: ListJobsOptions = {}): Promise<JobEntry[]> {
    listOptions.check('jobs.list', options)
    const { name, state, limit, after } = listOptions.read(options)
    if (after !== undefined && !isId(after)) return Promise.resolve([])
    const where = {
      ...(name === undefined ? {} : { name }),
      ...(state === undefined ? {} : { state }),
      ...(after === undefined ? {} : { id: { lt: after } }),
    }
    return this.#records.list({ where, orderBy: { id: 'desc' }, limit })
  }

  /** Returns a failed or cancelled job to the queue, with all its attempts. @returns false if it cannot be retried */
  async retry(id: number): Promise<boolean> {
    const { table, notifier } = this.#parts
    const isWaiting = isId(id) && (await retryRow(table, id))
    if (isWaiting) await notifier.jobAdded(undefined, { kind: 'now' })
    return isWaiting
  }

  /**
   * Cancels a job. A waiting job never runs. The `signal` of a running one aborts, in another process within 10 s.
   *
   * @returns false if the job neither waits nor runs
   */
  async cancel(id: number): Promise<boolean> {
    const { table, worker } = this.#parts
    const previousState = isId(id) ? await cancelRow(table, id) : undefined
    if (previousState === 'running') worker.cancel(id)
    return previousState !== undefined
  }

  /** The number of jobs in each state. */
  counts(): Promise<Record<JobState, number>> {
    return countStates(this.#parts.table)
  }

  /** Waiting and running jobs without bodies, at most 100 of each. The development page shows them. */
  async [pendingWork](): Promise<object[]> {
    const [waiting, running] = await Promise.all([
      this.list({ state: 'waiting', limit: 100 }),
      this.list({ state: 'running', limit: 100 }),
    ])
    return [...running, ...waiting].map(({ id, name, state, runAt, attempt, schedule }) => ({
      id,
      name,
      state,
      runAt,
      attempt,
      ...(schedule === null ? {} : { schedule }),
    }))
  }

  /** For tests: runs all due jobs and the jobs that they add. @returns the number of runs */
  drain(): Promise<number> {
    return this.#parts.worker.drain()
  }

  async #addEach(
    registered: RegisteredJob,
    newJobs: readonly NewJob[],
    when: When,
  ): Promise<AddedJob[]> {
    const added: AddedJob[] = []
    for (const job of newJobs) added.push(await this.#addOne(registered, job, when))
    return added
  }

  async #addOne(registered: RegisteredJob, job: NewJob, when: When): Promise<AddedJob> {
    const { table, notifier } = this.#parts
    for (;;) {
      const id = await addRow(table, job, when)
      if (id !== undefined) {
        await notifier.jobAdded(registered.name, when)
        return { id, added: true }
      }
      const activeId = await findActiveJob(table, job.unique ?? '')
      // Otherwise it has ended between the two statements: insert again.
      if (activeId !== undefined) return { id: activeId, added: false }
    }
  }

  get #records(): Repository<JobEntry> {
    return this.#parts.table.database.records(JobEntry)
  }
}

const readCommitted = { isolation: 'read committed' } as const

/** Ids may come from URLs and command lines: an invalid id matches no job. */
function isId(id: unknown): id is number {
  return Number.isSafeInteger(id) && Number(id) > 0
}
