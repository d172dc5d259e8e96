/** `Jobs`: what applications add jobs with, and look at them. */
import { rejectUnknownOptions, type Repository, pendingWork } from '../../index.js'
import { addRow, addRows, standingRow, readWhen, toNewJob, type AddOptions } from './add-jobs.js'
import type { Class, KnownJob, Registry } from './decorators.js'
import {
  JobEntry,
  jobStates,
  type JobState,
  type JobTable,
  cancelRow,
  countStates,
  isTaken,
  runAgain,
  type NewJob,
  type When,
} from './job-table.js'
import type { Wakes } from './worker-context.js'
import type { Worker } from './worker.js'

/** What `add` answers. */
export interface AddedJob {
  readonly id: number
  /** False: one with this `unique` stands already, waiting or running; `id` is its. */
  readonly added: boolean
}

export interface ListJobsOptions {
  readonly name?: string
  readonly state?: JobState
  /** Default 50, at most 1,000. */
  readonly limit?: number
  /** The id of the last one of the page before. */
  readonly after?: number
}

/** The methods of a class. */
export type MethodOf<T> = {
  [Name in keyof T & string]: T[Name] extends (...args: never[]) => unknown ? Name : never
}[keyof T & string]

/** The body that a job's method takes. */
export type BodyOf<T, Method extends keyof T> = T[Method] extends (
  body: infer Body,
  ...rest: never[]
) => unknown
  ? Given<Body>
  : undefined

/** A body as it is given: an object with the properties of its class. */
type Given<Body> = Body extends object
  ? { readonly [Name in keyof Body as Body[Name] extends Fn ? never : Name]: Body[Name] }
  : Body
type Fn = (...args: never[]) => unknown

interface JobsParts {
  readonly table: JobTable
  readonly registry: Registry
  readonly wakes: Wakes
  readonly worker: Worker
}

/** Adds jobs and looks at them. Name it in a constructor: `static inject = [Jobs]`. */
export class Jobs {
  readonly #parts: JobsParts

  /** Provided by `jobs()`. */
  constructor(parts: JobsParts) {
    this.#parts = parts
  }

  /**
   * Adds a job: in the transaction that is open where this is called, or at once. It exists when that is committed, and is
   * then run at least once.
   *
   * @throws {TypeError} a body that does not fit, an unknown option
   */
  async add<T extends object, Method extends MethodOf<T>>(
    type: Class<T>,
    method: Method,
    body?: BodyOf<T, Method>,
    options: AddOptions = {},
  ): Promise<AddedJob> {
    const where = `jobs.add of ${type.name}.${method}`
    const when = readWhen(where, options)
    const known = this.#parts.registry.find(type, method)
    return this.#addOne(known, await toNewJob(where, known, body, options), when)
  }

  /** Adds a job for each body: all of them or none. @returns an entry for each, in order */
  async addMany<T extends object, Method extends MethodOf<T>>(
    type: Class<T>,
    method: Method,
    bodies: Iterable<BodyOf<T, Method>>,
    options: AddOptions = {},
  ): Promise<AddedJob[]> {
    const where = `jobs.addMany of ${type.name}.${method}`
    const when = readWhen(where, options)
    const { registry, table, wakes } = this.#parts
    const known = registry.find(type, method)
    const all: NewJob[] = []
    for (const body of bodies) all.push(await toNewJob(where, known, body, options))
    if (all.length === 0) return []
    if (options.unique !== undefined)
      return table.database.transaction(() => this.#addEach(known, all, when), readCommitted)
    const ids = await addRows(table, all, when)
    await wakes.added(known.name, when)
    return ids.map((id) => ({ id, added: true }))
  }

  /** @returns undefined if there is none, or no more */
  async find(id: number): Promise<JobEntry | undefined> {
    return isId(id) ? ((await this.#records.find(id)) ?? undefined) : undefined
  }

  /** The newest first. */
  list(options: ListJobsOptions = {}): Promise<JobEntry[]> {
    refuse('jobs.list', options, ['name', 'state', 'limit', 'after'])
    const { name, state, limit = 50, after } = options
    if (name !== undefined && typeof (name as unknown) !== 'string')
      throw new TypeError('jobs.list: name must be a text, such as Mail.welcome.')
    if (state !== undefined && !jobStates.includes(state))
      throw new TypeError(
        `jobs.list: there is no state "${state as string}". States: ${jobStates.join(', ')}.`,
      )
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1000)
      throw new TypeError('jobs.list: limit must be a number from 1 to 1,000.')
    if (after !== undefined && !isId(after)) return Promise.resolve([])
    const where = {
      ...(name === undefined ? {} : { name }),
      ...(state === undefined ? {} : { state }),
      ...(after === undefined ? {} : { id: { lt: after } }),
    }
    return this.#records.list({ where, orderBy: { id: 'desc' }, limit })
  }

  /** Lets a failed or cancelled job run again, with all its attempts. @returns false if there is none to run */
  async retry(id: number): Promise<boolean> {
    const { table, wakes } = this.#parts
    const isWaiting =
      isId(id) &&
      // A part of the open transaction, which a fault of it would end.
      (await table.database
        .transaction(() => runAgain(table, id), readCommitted)
        .catch(async (error: unknown) => {
          // One with its `unique` was added at the same moment.
          if (await isTaken(table, id)) return false
          throw error
        }))
    if (isWaiting) await wakes.added(undefined, { kind: 'now' })
    return isWaiting
  }

  /**
   * A waiting job never runs; the `signal` of a running one aborts, in another process within 10 s.
   *
   * @returns false if there is none that waits or runs
   */
  async cancel(id: number): Promise<boolean> {
    const { table, worker } = this.#parts
    const was = isId(id) ? await cancelRow(table, id) : undefined
    if (was === 'running') worker.cancel(id)
    return was !== undefined
  }

  /** How many there are of each state. */
  async counts(): Promise<Record<JobState, number>> {
    const counts = await countStates(this.#parts.table)
    return Object.fromEntries(jobStates.map((state) => [state, counts.get(state) ?? 0])) as Record<
      JobState,
      number
    >
  }

  /** What waits or runs, without bodies: for the development page. At most 100 of each. */
  async [pendingWork](): Promise<object[]> {
    const [waiting, running] = await Promise.all([
      this.list({ state: 'waiting', limit: 100 }),
      this.list({ state: 'running', limit: 100 }),
    ])
    return [...running, ...waiting].map(({ id, name, state, runAt, attempt, schedule }) => ({
      ...{ id, name, state, runAt, attempt },
      ...(schedule === null ? {} : { schedule }),
    }))
  }

  /** Runs all that is due, here and now, and what that adds: for tests. @returns how many runs there were */
  drain(): Promise<number> {
    return this.#parts.worker.drain()
  }

  async #addEach(known: KnownJob, all: readonly NewJob[], when: When): Promise<AddedJob[]> {
    const added: AddedJob[] = []
    for (const job of all) added.push(await this.#addOne(known, job, when))
    return added
  }

  async #addOne(known: KnownJob, job: NewJob, when: When): Promise<AddedJob> {
    const { table, wakes } = this.#parts
    for (;;) {
      const id = await addRow(table, job, when)
      if (id !== undefined) {
        await wakes.added(known.name, when)
        return { id, added: true }
      }
      const standing = await standingRow(table, job.unique ?? '')
      // Else it has ended between the two statements.
      if (standing !== undefined) return { id: standing, added: false }
    }
  }

  get #records(): Repository<JobEntry> {
    return this.#parts.table.database.records(JobEntry)
  }
}

const readCommitted = { isolation: 'read committed' } as const

/** Ids come from addresses and command lines, whatever the types say: what is none finds nothing. */
function isId(id: unknown): id is number {
  return Number.isSafeInteger(id) && Number(id) > 0
}

function refuse(where: string, options: object, names: readonly string[]): void {
  for (const { message, remedy } of rejectUnknownOptions(options, names, where))
    throw new TypeError(`${message} ${remedy}`)
}
