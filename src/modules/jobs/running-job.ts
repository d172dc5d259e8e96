/** What a job is given beside its body, while it runs. */
import type { ChildLog, Log } from '../../index.js'
import type { Taken } from './stored-job.js'

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

export interface RunParts {
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
