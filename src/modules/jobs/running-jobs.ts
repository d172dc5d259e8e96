/** What runs in this process: how many places are left, who waits for the end, and whose time is over. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildLog, Log, JobEvent } from '../../index.js'
import type { Taken } from './job-table.js'
import type { KnownJob } from './decorators.js'

/** What a job is given beside its body, while it runs. */

/** A run of a job. */
export interface RunningJob {
  readonly id: number
  /** `Mail.welcome` */
  readonly name: string
  /** From 1. */
  readonly attempt: number
  /** When it was to be run. */
  readonly runAt: Date
  /**
   * Aborts when its time is over, when it is cancelled, when the process closes, and when it was taken from this process:
   * stop then, what it does from there on may be done by another run at the same time.
   */
  readonly signal: AbortSignal
  /** Tells how far it is, for `jobs.find` and pages. @param done from 0 to 1 */
  progress(done: number, text?: string): Promise<void>
  /** The application's log; its lines have the job's name, id and attempt. */
  readonly log: ChildLog
}

/** `GiveUp` fails a job at once, whatever its `retries` say. */
export class GiveUp extends Error {
  override readonly name = 'GiveUp'
}

/** Why `signal` aborts. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped'
  readonly why: 'timeout' | 'cancelled' | 'closing' | 'lost'

  constructor(why: JobStopped['why']) {
    super(sentences[why])
    this.why = why
  }
}

const sentences: Readonly<Record<JobStopped['why'], string>> = {
  timeout: 'The run exceeded its time.',
  cancelled: 'The job was cancelled.',
  closing: 'The process closes.',
  lost: 'The lease was lost: another run may have begun.',
}

interface RunParts {
  readonly taken: Taken
  readonly log: Log
  readonly tell: (progress: {
    readonly done: number
    readonly text: string | null
  }) => Promise<void>
}

export class JobRun implements RunningJob {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly runAt: Date
  readonly #parts: RunParts
  #controller: AbortController | undefined
  #log: JobLog | undefined
  /** Why it was stopped, if it was. */
  stopped: JobStopped | undefined

  constructor(parts: RunParts) {
    const { id, name, attempt, runAt } = parts.taken
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
    this.#log ??= new JobLog(this.#parts.log, fieldsOf(this.#parts.taken))
    return this.#log
  }

  async progress(done: number, text?: string): Promise<void> {
    if (typeof done !== 'number' || !(done >= 0 && done <= 1))
      throw new TypeError(`job.progress: ${String(done)} is no number from 0 to 1.`)
    await this.#parts.tell({ done, text: text?.slice(0, 1000) ?? null })
  }

  /** The first reason counts. */
  stop(why: JobStopped['why']): void {
    if (this.stopped !== undefined) return
    this.stopped = new JobStopped(why)
    this.#controller?.abort(this.stopped)
  }
}

/** What every line about a run says. */
export function fieldsOf({ id, name, attempt }: Pick<Taken, 'id' | 'name' | 'attempt'>): object {
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

/** A job that this process runs. */
export interface Running {
  readonly taken: Taken
  readonly job: KnownJob
  readonly run: JobRun
  /** By the process's clock that never jumps, as `endsAt`. */
  readonly began: number
  /** When its time is over; once it was told to stop: when it is over all the same. */
  endsAt: number
  /** It is decided how it ended. */
  isOver: boolean
  /** Undefined where nobody listens. */
  readonly event: JobEvent | undefined
}

/** Timers take 2^31 ms at most. */
const longest = 3_600_000

export class Places {
  readonly #byId = new Map<number, Running>()
  readonly #byName = new Map<string, number>()
  readonly #late: (running: Running) => void
  #whenFree: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity

  /** @param late is told of runs whose time is over */
  constructor(late: (running: Running) => void) {
    this.#late = late
  }

  get size(): number {
    return this.#byId.size
  }

  get all(): Iterable<Running> {
    return this.#byId.values()
  }

  find(id: number): Running | undefined {
    return this.#byId.get(id)
  }

  /** How many more of a job may run here. */
  roomOf({ name, concurrency }: KnownJob): number {
    return concurrency - (this.#byName.get(name) ?? 0)
  }

  enter(running: Running): void {
    const { id, name } = running.taken
    this.#byId.set(id, running)
    this.#byName.set(name, (this.#byName.get(name) ?? 0) + 1)
    this.watch(running)
  }

  /** @returns false if it has left already */
  leave(running: Running): boolean {
    const { id, name } = running.taken
    if (this.#byId.get(id) !== running) return false
    this.#byId.delete(id)
    this.#byName.set(name, (this.#byName.get(name) ?? 1) - 1)
    if (this.size === 0) for (const resolve of this.#whenFree.splice(0)) resolve()
    return true
  }

  /** One timer for all: it is set to whose time ends first. */
  watch({ endsAt }: Running): void {
    if (endsAt >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = endsAt
    const wait = Math.min(longest, Math.max(1, endsAt - performance.now()))
    this.#timer = setTimeout(this.#look, wait)
    this.#timer.unref()
  }

  readonly #look = (): void => {
    this.#timerAt = Infinity
    const now = performance.now()
    for (const running of [...this.all]) {
      if (running.endsAt <= now && !running.isOver) this.#late(running)
      if (!running.isOver) this.watch(running)
    }
  }

  /** Resolves once nothing runs. */
  idle(): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenFree.push(resolve))
  }

  /** @returns false if something runs after so many milliseconds */
  async idleWithin(ms: number): Promise<boolean> {
    if (this.size === 0) return true
    const patience = new AbortController()
    const end = sleep(ms, false, { signal: patience.signal }).catch(() => false)
    const isIdle = await Promise.race([this.idle().then(() => true), end])
    patience.abort()
    return isIdle
  }
}
