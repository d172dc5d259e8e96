/**
 * Jobs that are added by themselves: a row waits for each schedule, with a unique key of its own, so that however many
 * processes know the schedule it is run once. Whoever ends it adds the next one. What all processes have forgotten goes.
 */
import type { KnownJob } from './decorators.js'
import { schedulePrefix } from './add-jobs.js'
import { type JobTable, scheduleLasts, type Taken } from './job-table.js'

interface Standing {
  readonly id: number
  readonly state: string
  readonly schedule: string | null
  readonly runAt: number
}

export class Schedules {
  readonly #table: JobTable
  readonly #jobs: readonly KnownJob[]

  constructor(table: JobTable, jobs: Iterable<KnownJob>) {
    this.#table = table
    this.#jobs = [...jobs].filter(({ schedule }) => schedule !== undefined)
  }

  get isEmpty(): boolean {
    return this.#jobs.length === 0
  }

  /**
   * Says that this process knows its schedules; adds those that are missing, and corrects those whose pattern has changed.
   *
   * @param anew corrects all of them: a test has moved its clock back
   */
  async keep(anew = false): Promise<void> {
    if (this.isEmpty) return
    // Of the database itself: what is known of its clock here may be older than the clock.
    const { standing, now = this.#table.now } = await this.#standing()
    for (const job of this.#jobs) {
      const found = standing.get(keyOf(job))
      if (found === undefined) await this.#add(job, await this.#afterLast(job, now))
      else if (found.state === 'waiting' && (anew || isWrong(found, job, now)))
        await this.#move(found.id, job, now)
    }
    await this.#sign()
  }

  /** Adds the next one behind a run that has ended. */
  async next(job: KnownJob, { runAt, now }: Pick<Taken, 'runAt' | 'now'>): Promise<void> {
    await this.#add(job, nextAfter(job, runAt, now))
  }

  /** What a stop has missed is made up for once. */
  async #afterLast(job: KnownJob, now: number): Promise<number> {
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

  async #add(job: KnownJob, at: number): Promise<void> {
    const statement = this.#table.prepare(
      'schedule add',
      'insert',
      ({ value, now }) =>
        `insert into jobs (name, state, priority, run_at, later_at, attempt, retries, backoff, keep, claims, unique_key, schedule, added_at, keep_until)
values (${value('name')}, 'waiting', 0, ${value('at')}, ${value('at')}, 0, ${value('retries')}, ${value('backoff')}, ${value('keep')}, 0, ${value('unique')}, ${value('schedule')}, ${now(value('shift'))}, ${now(value('lasts'))})
on conflict do nothing`,
    )
    const { shift } = this.#table
    const { name, retries, backoff, keep } = job
    await statement.change({
      ...{ name, retries, backoff, keep, shift },
      at: new Date(at).toISOString(),
      unique: keyOf(job),
      schedule: job.schedule?.text ?? '',
      lasts: shift + scheduleLasts,
    })
  }

  async #move(id: number, job: KnownJob, now: number): Promise<void> {
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

  async #standing(): Promise<{
    readonly standing: ReadonlyMap<string, Standing>
    readonly now: number | undefined
  }> {
    const statement = this.#table.prepare(
      'schedule standing',
      'select',
      ({ texts, value, now, millis }) =>
        `select unique_key, id, state, schedule, ${millis('run_at')}, ${millis(now(value('shift')))} from jobs
where state in ('waiting', 'running') and unique_key in (${texts('keys')})`,
    )
    const rows = await statement.rows({ keys: this.#keys, shift: this.#table.shift })
    const standing = new Map(
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
    return { standing, now: rows[0] && Math.round(Number(rows[0][5])) }
  }

  async #sign(): Promise<void> {
    const statement = this.#table.prepare(
      'schedule sign',
      'update',
      ({ texts, value, now }) =>
        `update jobs set keep_until = ${now(value('lasts'))}
where state in ('waiting', 'running') and unique_key in (${texts('keys')})`,
    )
    await statement.change({ keys: this.#keys, lasts: this.#table.shift + scheduleLasts })
  }

  get #keys(): string {
    return JSON.stringify(this.#jobs.map(keyOf))
  }
}

/** Its pattern is another one, or the database's clock was set back: two runs at least would be left out. */
function isWrong(
  { schedule: text, runAt }: Standing,
  { schedule }: KnownJob,
  now: number,
): boolean {
  return text !== schedule?.text || runAt > schedule.next(schedule.next(now))
}

function keyOf({ name }: KnownJob): string {
  return `${schedulePrefix}${name}`
}

/** The next moment; of several that were missed meanwhile none is made up for. */
function nextAfter({ schedule }: KnownJob, runAt: number, now: number): number {
  const next = schedule?.next(runAt) ?? now
  return next > now ? next : (schedule?.next(now) ?? now)
}
