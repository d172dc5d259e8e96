/**
 * One live query and its listeners. It runs again when a table that it read changes, at most once per `pace` and for at
 * most half of the time. Each difference is formatted once for all listeners.
 */
import { randomBytes } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import { trackReads, ReadsByDatabase } from '../records/tracked-reads.js'
import type { Clock } from '../core/time.js'
import type { Log } from '../core/log.js'
import type { RunQueue } from '../core/run-queue.js'
import type { Claims } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import type { EventFormat, LiveFormat, LiveMessage } from './live-format.js'
import type { LiveCaller, LiveListener } from './live-listener.js'
import type { ResolvedLiveOptions } from './live.js'
import type { WatchedTables } from './watched-tables.js'

/**
 * The part of the caller that a result depends on. Only callers for whom this part is equal share a result.
 * `nothing`: the same result for all callers. `claims`: depends on the claims of the token. `all`: depends on anything
 * that code can read of a request.
 */
export type RightsDepth = 'nothing' | 'claims' | 'all'

export type Within = <R>(work: () => R) => R

export interface LiveQueryDefinition {
  /** The owner of the code that runs: a route or a schema. */
  readonly owner: object
  /** The part of the caller that the result depends on, according to the declarations. */
  readonly depth: RightsDepth
  /** Listeners with equal keys share a result. The key contains interface, text, variables and permissions. */
  readonly key: (depth: RightsDepth, caller: LiveCaller) => string
  readonly form: LiveFormat
  readonly events: EventFormat
  /**
   * Runs the query once, for this listener's caller.
   *
   * @param within runs the application's code, with the caller's request as the current one unless the result is shared
   * @returns JSON text of the result; undefined if the resource no longer exists
   * @throws {HttpError} 401 and 403 end the listeners; after 5xx the run is retried
   */
  readonly run: (listener: LiveListener, within: Within) => Promise<string | undefined>
}

export interface LiveParts {
  readonly options: ResolvedLiveOptions
  readonly clock: Clock
  readonly log: Log
  /** Runs work with the request as the current one. */
  readonly inRequest?: <R>(request: ServerRequest, work: () => R) => R
  /** Calls `end` once, when the token is revoked. @returns a function that ends the watch */
  readonly watch: ((claims: Claims, end: () => void) => () => void) | undefined
}

/** The part of `LiveQueries` that one of them uses. */
export interface LiveQueryHost {
  readonly parts: LiveParts
  readonly tables: WatchedTables
  readonly runs: RunQueue
  readonly counts: { runs: number; messages: number }
  /** Runs work outside any request's and transaction's context. */
  outside<T>(work: () => T): T
  /** Removes a live query that has no listeners left. */
  forget(query: LiveQuery): void
  /** Runs the owner's queries separately for each caller from now on, also for these listeners. */
  splitByRequest(definition: LiveQueryDefinition, listeners: Iterable<LiveListener>): void
}

/** Identifies this process: versions from an earlier or another process cannot be continued. */
const processId = randomBytes(6).toString('base64url')
let queriesCreated = 0

/**
 * Listeners that are notified in one turn of the event loop. Each notification writes to a socket, and other work waits
 * meanwhile.
 */
const listenersPerSlice = 10
/** Milliseconds: the timeout of a run, then the first and the longest delay before a failed run is retried. */
const [runTimeout, firstRetry, lastRetry] = [30_000, 1000, 30_000]
/** The least milliseconds before a run is retried that failed because the database was unavailable. */
const outageRetry = 500

interface PendingListener {
  /** Number of runs that had begun when the listener arrived. */
  readonly runsBefore: number
  readonly listener: LiveListener
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Thrown if a shared run reads the current request. The query then runs separately for each caller. */
export class DependsOnRequest extends Error {}

export class LiveQuery {
  readonly key: string
  readonly definition: LiveQueryDefinition
  readonly #queries: LiveQueryHost
  /** Unique, so that versions of two live queries are never confused. */
  readonly #instanceId = `${processId}${(queriesCreated++).toString(36)}`
  /** Listeners that have received a first message. */
  readonly #listeners = new Set<LiveListener>()
  #pending: PendingListener[] = []
  #version = 0
  #runs = 0
  #text: string | undefined
  #isRunning = false
  /** True if something has changed since the last run began. */
  #isDue = true
  #isQueued = false
  #startedAt = -Infinity
  #lastDuration = 0
  #failures = 0
  /** The last run failed because the database was unavailable. */
  #isOutage = false
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(definition: LiveQueryDefinition, key: string, queries: LiveQueryHost) {
    this.key = key
    this.definition = definition
    this.#queries = queries
  }

  /** Resolves when the listener has its first message, if it needs one. */
  add(listener: LiveListener): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ runsBefore: this.#runs, listener, resolve, reject })
      if (this.#isDue || this.#isRunning) this.#scheduleSoon()
      else this.#sendInitial()
    })
  }

  remove(listener: LiveListener): void {
    this.#listeners.delete(listener)
    this.#pending = this.#pending.filter((one) => {
      if (one.listener === listener) one.resolve()
      return one.listener !== listener
    })
    if (this.#listeners.size + this.#pending.length === 0) this.#end()
  }

  /** True during a run, while the tables of this run are not yet known. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Schedules a run after a write to data that the query has read. */
  changed(): void {
    if (this.#isOver) return
    this.#isDue = true
    this.#schedule(this.#failures > 0 ? this.#retryDelay() : this.#delayBeforeRun())
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#queries.forget(this)
  }

  /** Milliseconds until the next run may start. */
  #delayBeforeRun(): number {
    const { pace } = this.#queries.parts.options
    return Math.max(0, this.#startedAt + Math.max(pace, 2 * this.#lastDuration) - performance.now())
  }

  #retryDelay(): number {
    // A query that exceeded its time looks the same, and is not repeated as often.
    if (this.#isOutage) return Math.min(lastRetry, Math.max(outageRetry, 2 * this.#lastDuration))
    return Math.min(lastRetry, firstRetry * 2 ** (this.#failures - 1))
  }

  #schedule(delay: number): void {
    if (this.#isRunning || this.#isQueued || this.#isOver) return
    if (delay <= 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#isQueued = true
      this.#queries.outside(() => {
        this.#queries.runs.add(() => this.#run())
      })
      return
    }
    if (this.#timer !== undefined) return
    this.#timer = this.#queries.outside(() =>
      setTimeout(() => {
        this.#timer = undefined
        this.#schedule(0)
      }, delay).unref(),
    )
  }

  /** Schedules a run for waiting listeners. A failed run is retried immediately. */
  #scheduleSoon(): void {
    if (this.#failures > 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
    this.#schedule(this.#hasResult() ? this.#delayBeforeRun() : 0)
  }

  async #run(): Promise<void> {
    this.#isQueued = false
    const caller = this.#caller()
    if (this.#isOver || caller === undefined) return
    this.#isRunning = true
    this.#isDue = false
    this.#startedAt = performance.now()
    this.#queries.counts.runs++
    const run = ++this.#runs
    const reads = new ReadsByDatabase()
    try {
      const text = await this.#runWithTimeout(caller, reads)
      this.#lastDuration = performance.now() - this.#startedAt
      // Writes between the run and now are unknown for tables that are watched only from now on.
      if (await this.#queries.tables.follow(this, reads, this.#startedAt)) this.#isDue = true
      else {
        await this.#publish(text)
        // Callers that came after the run began may have fewer permissions than its result assumes.
        this.#sendInitial(({ runsBefore }) => runsBefore < run)
      }
      this.#failures = 0
    } catch (error) {
      this.#lastDuration = performance.now() - this.#startedAt
      this.#fail(error, caller)
    }
    this.#isRunning = false
    this.#scheduleNext()
  }

  #scheduleNext(): void {
    if (this.#isOver) return
    if (this.#isDue)
      this.#schedule(
        this.#failures > 0 ? this.#retryDelay() : this.#hasResult() ? this.#delayBeforeRun() : 0,
      )
    else if (this.#hasResult()) this.#sendInitial()
  }

  /** The listener whose caller the query runs for. */
  #caller(): LiveListener | undefined {
    const now = this.#queries.parts.clock.now()
    for (const listener of [...this.#listeners, ...this.#pending.map((one) => one.listener)]) {
      if (listener.isOver) continue
      if (!listener.closeIfOver(now)) return listener
    }
    return undefined
  }

  async #runWithTimeout(caller: LiveListener, reads: ReadsByDatabase): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new HttpError(503, 'The request took too long.'))
      }, runTimeout).unref()
    })
    try {
      const text = await trackReads(reads, () => Promise.race([this.#runFor(caller), timeout]))
      if (this.definition.depth !== 'all' && reads.usesRequest) throw new DependsOnRequest()
      return text
    } catch (error) {
      // Check the error first: impossible values, such as a revoked proxy, throw here, where errors are handled. A
      // deleted resource may exist again later.
      const wasDeleted = error instanceof HttpError && error.status === 404 && this.#hasResult()
      if (!wasDeleted) throw error
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  #runFor(caller: LiveListener): Promise<string | undefined> {
    const { request } = caller.caller
    const { inRequest } = this.#queries.parts
    const isAlone = this.definition.depth === 'all' && request !== undefined
    return this.definition.run(caller, (work) =>
      isAlone && inRequest !== undefined ? inRequest(request, work) : work(),
    )
  }

  #hasResult(): boolean {
    return this.#version > 0
  }

  async #publish(text: string | undefined): Promise<void> {
    if (!this.#hasResult()) {
      this.#version = 1
      this.#text = text
      return
    }
    if (text === this.#text) return
    const version = ++this.#version
    const change = this.definition.form.change(this.#text, text, version)
    this.#text = text
    if (this.#listeners.size > 0) await this.#send({ kind: 'data', id: this.#id(), text: change })
  }

  async #send(message: LiveMessage): Promise<void> {
    const now = this.#queries.parts.clock.now()
    let notified = 0
    for (const listener of [...this.#listeners]) {
      if (notified > 0 && notified % listenersPerSlice === 0)
        await new Promise((resolve) => setImmediate(resolve))
      if (!listener.closeIfOver(now)) listener.send(message)
      notified++
    }
    this.#queries.counts.messages += notified
  }

  #id(): string {
    return `${this.#instanceId}:${this.#version}`
  }

  /** Sends the current result to new listeners, unless they already have it. */
  #sendInitial(isRecipient: (one: PendingListener) => boolean = () => true): void {
    const { form } = this.definition
    const recipients = this.#pending.filter(isRecipient)
    this.#pending = this.#pending.filter((one) => !recipients.includes(one))
    const messages = new Map<boolean, LiveMessage>()
    const id = this.#id()
    for (const { listener, resolve } of recipients) {
      const { lastId } = listener.caller
      this.#listeners.add(listener)
      if (lastId !== id) {
        const isLost = lastId !== undefined
        const message = messages.get(isLost) ?? {
          kind: 'data',
          id,
          text: form.complete(this.#text, this.#version, isLost),
        }
        messages.set(isLost, message)
        listener.send(message)
        this.#queries.counts.messages++
      }
      resolve()
    }
  }

  /** Each listener continues in a query of its own caller. Waiting ones are opened again. */
  #split(): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    this.#end()
    this.#queries.splitByRequest(this.definition, listeners)
  }

  #fail(error: unknown, caller: LiveListener): void {
    // Its reads ended with its request, so another caller runs the query.
    if (caller.isOver) {
      this.#isDue = true
      return
    }
    const isSplit = error instanceof DependsOnRequest
    if (isSplit) this.#split()
    const status = error instanceof HttpError ? error.status : 500
    for (const { listener, reject } of this.#pending.splice(0)) {
      reject(error)
      listener.end()
    }
    if (isSplit) return
    if (status < 500) {
      for (const listener of [...this.#listeners]) listener.close(status)
      return
    }
    if (this.#listeners.size === 0) return
    this.#isOutage = error instanceof HttpError && error.code === 'DATABASE_UNAVAILABLE'
    this.#failures++
    this.#isDue = true
    if (this.#failures === 1)
      this.#queries.parts.log.warn({ err: error }, 'a live query failed and will be retried')
  }
}
