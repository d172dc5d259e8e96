/** Renews the leases of what runs here, by a thread; hears what was cancelled, lost, or taken back from others. */

import { checkBody } from './add-jobs.js'
import {
  endRun,
  giveBack,
  tellProgress,
  type Ending,
  turn,
  heartbeats,
  recover,
} from './worker-statements.js'
import { Places, type Running, fieldsOf, GiveUp, JobRun, type JobStopped } from './running-jobs.js'
import type { KnownJob } from './decorators.js'
import { grace, type Taken, renewal, toRecovered, type Recovered } from './job-table.js'
import {
  Watched,
  type JobEvent,
  type JobOutcome,
  type Heartbeat,
  type SqlRow,
} from '../../index.js'
import type { Workplace } from './worker-context.js'

/**
 * Runs what was taken: begins it, calls the method, tells it to stop, and decides how it ended. What succeeded goes to the
 * next round; all other ends are stored here, each by itself.
 */

/** Metrics and traces read these events. They never contain bodies. */
const jobEvents = new Watched<JobEvent>('filigree:job')

const longestPause = 3_600_000
/** Characters of a fault that are stored. */
const mostError = 8_000

interface RunsParts {
  readonly workplace: Workplace
  /** The worker's id, which its rows have. */
  readonly worker: string
  /** A run has succeeded: it is to be stored. */
  readonly succeeded: (running: Running) => void
  /** A place is free that no round has freed. */
  readonly freed: () => void
  /** A job is to be run in so many milliseconds. */
  readonly wakeIn: (ms: number) => void
}

export class Runs {
  readonly places: Places
  readonly #parts: RunsParts

  constructor(parts: RunsParts) {
    this.#parts = parts
    this.places = new Places((running) => {
      const { stopped } = running.run
      if (stopped === undefined) this.stop(running, 'timeout')
      else this.#failed(running, stopped)
    })
  }

  begin(taken: Taken, job: KnownJob): void {
    const { workplace, worker } = this.#parts
    const run = new JobRun({
      taken,
      log: workplace.log,
      tell: async (progress) => {
        if (!(await tellProgress(workplace.table, worker, taken, progress))) this.lose(running)
      },
    })
    const began = performance.now()
    const event = jobEvents.heard ? this.#eventOf(taken) : undefined
    const endsAt = began + job.timeout
    const running: Running = { taken, job, run, began, endsAt, isOver: false, event }
    this.places.enter(running)
    if (event === undefined) this.#perform(running)
    else
      jobEvents.begin(event, () => {
        this.#perform(running)
      })
  }

  #eventOf({ id, name, attempt, trace }: Taken): JobEvent {
    const application = this.#parts.workplace.state
    return {
      ...{ application, job: name, id, attempt, trace: trace ?? undefined },
      ...{ ms: 0, error: undefined, outcome: undefined },
    }
  }

  #perform(running: Running): void {
    const { taken, job, run } = running
    if (job.check !== undefined) {
      this.#follow(running, this.#performChecked(running))
      return
    }
    try {
      if (job.schedule !== undefined) this.#follow(running, job.call(run))
      else {
        const body = taken.body === null ? undefined : readBody(taken.body)
        this.#follow(running, job.call(body, run))
      }
    } catch (error) {
      this.#failed(running, error)
    }
  }

  async #performChecked({ taken, job, run }: Running): Promise<unknown> {
    let body: unknown
    try {
      body = await checkBody(taken.name, job, taken.body)
    } catch (error) {
      throw new GiveUp((error as Error).message, { cause: error })
    }
    return job.call(body, run)
  }

  #follow(running: Running, given: unknown): void {
    if (typeof (given as Partial<PromiseLike<unknown>> | null | undefined)?.then !== 'function') {
      this.#succeeded(running)
      return
    }
    Promise.resolve(given).then(
      () => {
        this.#succeeded(running)
      },
      (error: unknown) => {
        this.#failed(running, error)
      },
    )
  }

  #succeeded(running: Running): void {
    if (running.isOver) return
    running.isOver = true
    if (running.job.schedule === undefined) this.#parts.succeeded(running)
    else void this.#storeScheduled(running)
  }

  async #storeScheduled(running: Running): Promise<void> {
    const { workplace, worker } = this.#parts
    const { taken } = running
    const isMine = await workplace.untilStored(() =>
      this.#withNext(running, async () => {
        const { done } = await turn(workplace.table, worker, [taken], [noRoom], 0)
        return done.has(taken.id)
      }),
    )
    this.leave(running, isMine ? 'done' : 'lost')
    this.#parts.freed()
  }

  /** The end of a scheduled run and the next one are stored together. */
  #withNext({ job, taken }: Running, end: () => Promise<boolean>): Promise<boolean> {
    const { table, schedules } = this.#parts.workplace
    return table.database.transaction(
      async () => {
        const isMine = await end()
        if (isMine) await schedules.next(job, taken)
        return isMine
      },
      { isolation: 'read committed' },
    )
  }

  #failed(running: Running, error: unknown): void {
    if (running.isOver) return
    running.isOver = true
    void this.#storeFault(running, readable(error))
  }

  async #storeFault(running: Running, error: unknown): Promise<void> {
    const { workplace, worker, wakeIn } = this.#parts
    const { taken, run, job } = running
    const { table } = workplace
    const why = run.stopped?.why
    if (why === 'closing') {
      const isMine = await workplace.untilStored(() => giveBack(table, worker, taken))
      this.leave(running, isMine ? 'given back' : 'lost')
      return
    }
    const isFinal = error instanceof GiveUp || taken.attempt > taken.retries
    const state = why === 'cancelled' ? 'cancelled' : isFinal ? 'failed' : 'waiting'
    const ending = { state, pause: pauseBehind(taken), ...describe(taken.attempt, error) } as const
    const end = (): Promise<boolean> => endRun(table, worker, taken, ending)
    const isMine = await workplace.untilStored(() =>
      job.schedule !== undefined && state !== 'waiting' ? this.#withNext(running, end) : end(),
    )
    if (!isMine) {
      this.leave(running, 'lost')
      return
    }
    if (state === 'waiting') wakeIn(ending.pause)
    this.#logFault(taken, error, state)
    if (running.event !== undefined) running.event.error = error
    this.leave(running, state === 'waiting' ? 'again' : state)
  }

  #logFault(taken: Taken, error: unknown, state: Ending['state']): void {
    const { log } = this.#parts.workplace
    const details = { ...fieldsOf(taken), err: error }
    if (state === 'failed') log.error(details, 'a job failed')
    else if (state === 'waiting') log.warn(details, 'a job failed and will run again')
    else log.info(fieldsOf(taken), 'a job was cancelled')
  }

  /** The job's places are free again. */
  leave(running: Running, outcome: JobOutcome): void {
    if (!this.places.leave(running)) return
    if (outcome === 'lost')
      this.#parts.workplace.log.warn(
        fieldsOf(running.taken),
        'a job was taken from this process while it ran: what it did is done again',
      )
    const { event } = running
    if (event !== undefined) {
      event.outcome = outcome
      jobEvents.finish(event, running.began)
    }
    if (outcome !== 'done') this.#parts.freed()
  }

  /** Its signal aborts; what does not stop within a while is over all the same. */
  stop(running: Running, why: JobStopped['why']): void {
    const { run } = running
    if (running.isOver || run.stopped !== undefined) return
    run.stop(why)
    // The end of the process, which gives it back, or another process decides.
    running.endsAt = why === 'closing' ? Infinity : performance.now() + grace
    this.places.watch(running)
  }

  /** Another process has it. */
  lose(running: Running): void {
    if (running.isOver) return
    running.run.stop('lost')
    running.isOver = true
    this.leave(running, 'lost')
  }

  /** What did not stop at the end of the process waits again. */
  async giveAllBack(): Promise<void> {
    const { workplace, worker } = this.#parts
    for (const running of [...this.places.all]) {
      if (running.isOver) continue
      running.isOver = true
      await giveBack(workplace.table, worker, running.taken).catch((err: unknown) => {
        const details = { ...fieldsOf(running.taken), err }
        workplace.log.warn(details, 'a job could not be given back: its lease will end')
      })
      this.leave(running, 'given back')
    }
  }
}

/** For a round that takes nothing. */
const noRoom = { name: '', most: 0, timeout: 0 }

/** @throws {GiveUp} no JSON: somebody else has written it */
function readBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new GiveUp('The body is no JSON.', { cause })
  }
}

/** Doubled for each repetition, and up to a sixth shorter by chance. */
function pauseBehind({ backoff, attempt }: Taken): number {
  const pause = Math.min(longestPause, backoff * 2 ** (attempt - 1))
  return Math.round(pause * (0.85 + 0.15 * Math.random()))
}

function describe(attempt: number, thrown: unknown): Pick<Ending, 'error' | 'line'> {
  const isError = thrown instanceof Error
  const message = clean(textOf(isError ? thrown.message : thrown)).slice(0, 2000)
  const stack = isError ? clean(textOf(thrown.stack ?? message)).slice(0, mostError) : message
  return { error: stack, line: `${JSON.stringify({ attempt, message, stack })}\n` }
}

/** Jobs throw whatever they like: what throws itself when it is looked at would end the process. */
function readable(thrown: unknown): unknown {
  try {
    describe(0, thrown)
    return thrown
  } catch {
    return new Error('The job has thrown what cannot be read.')
  }
}

/** Anything as a text. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that is no text'
  }
}

/** Databases refuse the character NUL and lone surrogates. */
function clean(text: string): string {
  return Buffer.from(text.replaceAll('\0', '')).toString()
}

export interface LeasesParts {
  readonly workplace: Workplace
  readonly worker: string
  readonly runs: Runs
  /** There may be jobs again. */
  readonly wake: () => void
}

export class Leases {
  readonly #parts: LeasesParts
  #heartbeat: Heartbeat | undefined
  #heardAt = -Infinity

  constructor(parts: LeasesParts) {
    this.#parts = parts
  }

  /** The thread beats while something runs. */
  keep(): void {
    if (this.#heartbeat !== undefined) return
    this.#heardAt = -Infinity
    const { workplace, worker } = this.#parts
    const { table, log } = workplace
    this.#heartbeat = table.database.heartbeat(heartbeats(table, worker), {
      every: renewal,
      onRows: (rows) => {
        this.#heed(rows)
      },
      onError: (err) => {
        log.warn({ err }, 'the leases of running jobs could not be renewed')
      },
    })
  }

  async stop(): Promise<void> {
    const heartbeat = this.#heartbeat
    this.#heartbeat = undefined
    await heartbeat?.stop()
  }

  /** Takes back what other processes have lost. */
  async recover(): Promise<void> {
    this.#tell(await recover(this.#parts.workplace.table))
  }

  #heed([renewed = [], , recovered = []]: readonly (readonly SqlRow[])[]): void {
    const { runs } = this.#parts
    const still = new Map(renewed.map((row) => [Number(row[0]), row]))
    const before = this.#heardAt
    this.#heardAt = performance.now()
    for (const running of [...runs.places.all]) {
      const [, claims, isCancelled] = still.get(running.taken.id) ?? []
      if (Number(claims) === running.taken.claims) {
        if (Number(isCancelled) === 1) runs.stop(running, 'cancelled')
        // The thread may have asked before it was taken.
      } else if (running.began < before) runs.lose(running)
    }
    this.#tell(recovered.map(toRecovered))
    // Until the next job.
    if (runs.places.size === 0) void this.stop()
  }

  #tell(recovered: readonly Recovered[]): void {
    if (recovered.length === 0) return
    const { workplace, wake } = this.#parts
    for (const one of recovered) {
      const what = one.state === 'waiting' ? 'it will run again' : `it is ${one.state}`
      const details = { ...fieldsOf(one), state: one.state }
      workplace.log.warn(details, `the lease of a job ended: ${what}`)
    }
    wake()
    const isScheduled = ({ name, state }: Recovered): boolean =>
      state !== 'waiting' && workplace.known.get(name)?.schedule !== undefined
    if (recovered.some(isScheduled)) void workplace.guard(() => workplace.schedules.keep())
  }
}
