/**
 * Tells workers of new jobs: the one of this process at once, others by a signal of the database. Never in the transaction or
 * the request that adds: what is set up there would carry its context along, and PostgreSQL commits transactions that
 * notify one after the other.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { AsyncResource } from 'node:async_hooks'
import type { ApplicationState, Log } from '../../index.js'
import type { JobTable, When } from './job-table.js'
import type { KnownJob, Registry } from './decorators.js'
import { Schedules } from './schedules.js'

/** What all parts of a worker share: which jobs it runs, the table, and what it says when the database is away. */

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

/** The name of the signal. */
export const jobsSignal = 'jobs'

/** Milliseconds between two signals at least. */
const pause = 10

export interface WakesParts {
  readonly table: JobTable
  readonly log: Log
}

/** Who takes jobs in this process. */
export interface Taker {
  /** It has room for jobs of this name; undefined: of any. */
  hasRoom(name: string | undefined): boolean
  wake(): void
  /** A job is to be run in so many milliseconds. */
  wakeIn(ms: number): void
}

export class Wakes {
  readonly #parts: WakesParts
  /** Made at the start, outside of any request. */
  readonly #outside = new AsyncResource('filigree.jobs')
  readonly #names = new Set<string | undefined>()
  #soonest: number | undefined
  #isSet = false
  #signalled = -Infinity
  #isLater = false
  taker: Taker | undefined
  /** In tests: runs what is due, before the caller goes on. */
  inline: (() => Promise<unknown>) | undefined

  constructor(parts: WakesParts) {
    this.#parts = parts
  }

  /** A job was added, or waits again: once the open transaction is committed it is told. */
  added(name: string | undefined, when: When): Promise<unknown> | undefined {
    const open = this.#parts.table.database.openTransaction()
    const { inline } = this
    if (inline !== undefined) {
      if (open === undefined) return inline()
      open.committed(async () => {
        await inline()
      })
    } else if (open === undefined) this.#tell(name, when)
    else
      open.onCommit(() => {
        this.#tell(name, when)
      })
    return undefined
  }

  /** Runs work outside of the caller's request and transaction. */
  outside<T>(work: () => T): T {
    return this.#outside.runInAsyncScope(work)
  }

  #tell(name: string | undefined, when: When): void {
    const wait =
      when.kind === 'now'
        ? 0
        : when.kind === 'in'
          ? when.ms
          : when.at.getTime() - this.#parts.table.now
    if (wait <= 0) this.#names.add(name)
    else if (wait < (this.#soonest ?? Infinity)) this.#soonest = wait
    if (this.#isSet) return
    this.#isSet = true
    this.outside(() => setImmediate(this.#pass))
  }

  readonly #pass = (): void => {
    this.#isSet = false
    const names = [...this.#names]
    this.#names.clear()
    const soonest = this.#soonest
    this.#soonest = undefined
    const { taker } = this
    if (soonest !== undefined) taker?.wakeIn(soonest)
    if (names.length === 0) return
    const forOthers = taker === undefined || names.some((name) => !taker.hasRoom(name))
    taker?.wake()
    if (forOthers) this.#signal()
  }

  /** At once, then at most once in a while. */
  #signal(): void {
    if (this.#isLater) return
    const wait = this.#signalled + pause - performance.now()
    if (wait > 0) {
      this.#isLater = true
      setTimeout(() => {
        this.#isLater = false
        this.#signal()
      }, wait).unref()
      return
    }
    this.#signalled = performance.now()
    const { table, log } = this.#parts
    table.database.signal(jobsSignal).catch((err: unknown) => {
      // Those who poll find the job within a second.
      log.debug({ err }, 'other processes could not be told of a job')
    })
  }
}
