/**
 * Jobs with `@Cron` and `@Every`. For each schedule one row waits, with a unique key, so it runs once however many processes have
 * the schedule. The process that ends a run adds the next one. A schedule that no process has any more is removed.
 */
import type { RegisteredJob } from './decorators.js'
import { schedulePrefix } from './add-jobs.js'
import { type JobTable, scheduleLifetimeMs, type ClaimedJob } from './job-table.js'

interface StoredSchedule {
  readonly id: number
  readonly state: string
  readonly schedule: string | null
  readonly runAt: number
}

export class Schedules {
  readonly #table: JobTable
  readonly #jobs: readonly RegisteredJob[]

  constructor(table: JobTable, jobs: Iterable<RegisteredJob>) {
    this.#table = table
    this.#jobs = [...jobs].filter(({ schedule }) => schedule !== undefined)
  }

  get isEmpty(): boolean {
    return this.#jobs.length === 0
  }

  /**
   * Adds missing schedules, corrects those whose pattern has changed, and extends the lifetime of all of them.
   *
   * @param resetAll corrects all of them: a test has moved its clock back
   */
  async sync(resetAll = false): Promise<void> {
    if (this.isEmpty) return
    // Read with the rows, because the cached offset of the database clock may be outdated.
    const { storedByKey, now = this.#table.now } = await this.#readStored()
    for (const job of this.#jobs) {
      const stored = storedByKey.get(uniqueKeyOf(job))
      if (stored === undefined) await this.#add(job, await this.#firstTime(job, now))
      else if (stored.state === 'waiting' && (resetAll || needsCorrection(stored, job, now)))
        await this.#reschedule(stored.id, job, now)
    }
    await this.#extendLifetime()
  }

  /** Adds the next run after one that has ended. */
  async addNext(
    job: RegisteredJob,
    { runAt, now }: Pick<ClaimedJob, 'runAt' | 'now'>,
  ): Promise<void> {
    await this.#add(job, timeAfterRun(job, runAt, now))
  }

  /** When a new schedule runs first. If the last run was missed while no process ran, it is made up for once. */
  async #firstTime(job: RegisteredJob, now: number): Promise<number> {
    const statement = this.#table.prepare(
      'schedule last',
      'select',
      ({ value, millis }) =>
        `select ${millis('max(started_at)')} from jobs where name = ${value('name')} and schedule = ${value('schedule')}`,
    )
    const [row] = await statement.rows({ name: job.name, schedule: job.schedule?.text ?? '' })
    const last = row?.[0]
    if (last === null || last === undefined) return job.schedule?.next(now) ?? now
    return Math.min(job.schedule?.next(Number(last)) ?? now, job.schedule?.next(now) ?? now)
  }

  async #add(job: RegisteredJob, at: number): Promise<void> {
    const statement = this.#table.prepare(
      'schedule add',
      'insert',
      ({ value, now }) =>
        `insert into jobs (name, state, priority, run_at, later_at, attempt, retries, backoff, keep, claims, unique_key, schedule, added_at, keep_until)
values (${value('name')}, 'waiting', 0, ${value('at')}, ${value('at')}, 0, ${value('retries')}, ${value('backoff')}, ${value('keep')}, 0, ${value('unique')}, ${value('schedule')}, ${now(value('shift'))}, ${now(value('keepUntil'))})
on conflict do nothing`,
    )
    const { shift } = this.#table
    const { name, retries, backoff, keep } = job
    await statement.change({
      name,
      retries,
      backoff,
      keep,
      shift,
      at: new Date(at).toISOString(),
      unique: uniqueKeyOf(job),
      schedule: job.schedule?.text ?? '',
      keepUntil: shift + scheduleLifetimeMs,
    })
  }

  async #reschedule(id: number, job: RegisteredJob, now: number): Promise<void> {
    const statement = this.#table.prepare(
      'schedule move',
      'update',
      ({ value }) =>
        `update jobs set run_at = ${value('at')}, later_at = ${value('at')}, schedule = ${value('schedule')}
where id = ${value('id')} and state = 'waiting' and attempt = 0`,
    )
    const at = new Date(job.schedule?.next(now) ?? now).toISOString()
    await statement.change({ id, at, schedule: job.schedule?.text ?? '' })
  }

  async #readStored(): Promise<{
    readonly storedByKey: ReadonlyMap<string, StoredSchedule>
    readonly now: number | undefined
  }> {
    const statement = this.#table.prepare(
      'schedules stored',
      'select',
      ({ texts, value, now, millis }) =>
        `select unique_key, id, state, schedule, ${millis('run_at')}, ${millis(now(value('shift')))} from jobs
where state in ('waiting', 'running') and unique_key in (${texts('keys')})`,
    )
    const rows = await statement.rows({ keys: this.#keys, shift: this.#table.shift })
    const storedByKey = new Map(
      rows.map(([key, id, state, schedule, runAt]) => [
        String(key),
        {
          id: Number(id),
          state: String(state),
          schedule: schedule as string | null,
          runAt: Number(runAt),
        },
      ]),
    )
    return { storedByKey, now: rows[0] && Math.round(Number(rows[0][5])) }
  }

  async #extendLifetime(): Promise<void> {
    const statement = this.#table.prepare(
      'schedules extend',
      'update',
      ({ texts, value, now }) =>
        `update jobs set keep_until = ${now(value('keepUntil'))}
where state in ('waiting', 'running') and unique_key in (${texts('keys')})`,
    )
    await statement.change({ keys: this.#keys, keepUntil: this.#table.shift + scheduleLifetimeMs })
  }

  get #keys(): string {
    return JSON.stringify(this.#jobs.map(uniqueKeyOf))
  }
}

/**
 * True if the pattern has changed, or if the clock of the database was set back so far that at least two runs would be skipped.
 */
function needsCorrection(
  { schedule: text, runAt }: StoredSchedule,
  { schedule }: RegisteredJob,
  now: number,
): boolean {
  return text !== schedule?.text || runAt > schedule.next(schedule.next(now))
}

function uniqueKeyOf({ name }: RegisteredJob): string {
  return `${schedulePrefix}${name}`
}

/** The time of the next run. Runs that were missed meanwhile are not made up for. */
function timeAfterRun({ schedule }: RegisteredJob, runAt: number, now: number): number {
  const next = schedule?.next(runAt) ?? now
  return next > now ? next : (schedule?.next(now) ?? now)
}
