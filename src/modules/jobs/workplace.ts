/** What all parts of a worker share: which jobs it runs, the table, and what it says when the database is away. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApplicationState, Log } from '../../index.js'
import type { JobTable } from './job-table.js'
import type { KnownJob, Registry } from './registry.js'
import { Schedules } from './schedules.js'

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

export interface WorkplaceParts {
  readonly table: JobTable
  readonly registry: Registry
  readonly state: ApplicationState
  readonly options: WorkOptions
}

/** Milliseconds until a statement is tried again that failed. */
const again = 1_000

export class Workplace {
  readonly table: JobTable
  readonly registry: Registry
  readonly state: ApplicationState
  readonly log: Log
  /** It takes no more jobs. */
  isStopping = false
  #options: WorkOptions
  #known: ReadonlyMap<string, KnownJob> | undefined
  #schedules: Schedules | undefined
  #isAway = false

  constructor({ table, registry, state, options }: WorkplaceParts) {
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
    this.#known = undefined
    this.#schedules = undefined
  }

  /** The jobs that this process runs, by name. */
  get known(): ReadonlyMap<string, KnownJob> {
    const { only } = this.#options
    this.#known ??= new Map(
      [...this.registry.jobs].filter(
        ([name, { owner }]) =>
          only === undefined || only.includes(name) || only.includes(owner.name),
      ),
    )
    return this.#known
  }

  get schedules(): Schedules {
    this.#schedules ??= new Schedules(this.table, this.known.values())
    return this.#schedules
  }

  /** Logs faults of statements, once for an outage. @returns undefined if there was one */
  async guard<T>(work: () => Promise<T>, what = cannotTake): Promise<T | undefined> {
    try {
      const done = await work()
      this.#isAway = false
      return done
    } catch (err) {
      if (!this.#isAway && !this.isStopping) this.log.error({ err }, what)
      this.#isAway = true
      return undefined
    }
  }

  /** Stores how a run ended, however long the database is away: until then its lease goes on, or another process has it. */
  async untilStored<T>(store: () => Promise<T>): Promise<T> {
    for (;;) {
      const stored = await this.guard(async () => [await store()] as const, cannotStore)
      if (stored !== undefined) return stored[0]
      await sleep(again, undefined, { ref: false })
    }
  }
}

const cannotTake = 'jobs cannot be taken from the database'
const cannotStore = 'the end of a job cannot be stored: it is tried again'
