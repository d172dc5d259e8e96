/**
 * The statements on the table `jobs`. All times are the database's; `shift` is what a test has moved its clock by. A row
 * that runs belongs to the process and to the count of claims that it was taken with: who has lost it changes nothing.
 */
import { Clock, Database, type OwnSql, type SqlValues, type SqlWords } from '../../index.js'
import type { JobState } from './job-entry.js'

/** Milliseconds for which a row is its process's, and between two renewals. */
export const lease = 15_000
export const renewal = 5_000
/** Milliseconds for which a schedule stands that no process knows, and between two signs of those who do. */
const scheduleLasts = 120_000

/** What is stored of a new job. */
export interface NewJob {
  readonly name: string
  /** JSON, or null. */
  readonly body: string | null
  readonly priority: number
  readonly retries: number
  readonly backoff: number
  readonly keep: number
  readonly unique: string | null
  readonly group: string | null
  readonly trace: string | null
}

/** When it is to run: at once, so many milliseconds later, or at a moment. */
export type When =
  | { readonly kind: 'now' }
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'at'; readonly at: Date }

/** A row that this process has taken. */
export interface Taken {
  readonly id: number
  readonly name: string
  readonly claims: number
  readonly attempt: number
  readonly body: string | null
  readonly priority: number
  /** Milliseconds since 1970. */
  readonly runAt: number
  /** By the database's clock. */
  readonly now: number
  readonly schedule: string | null
  readonly trace: string | null
  readonly retries: number
  readonly backoff: number
}

/** How many rows of a name may be taken. */
export interface Room {
  readonly name: string
  readonly most: number
  /** Milliseconds that a run may last. */
  readonly timeout: number
}

/** What a look at the table shows. */
export interface Look {
  /** A job waits that could be taken. */
  readonly isReady: boolean
  /** A lease has ended. */
  readonly hasLost: boolean
  /** Milliseconds until the next job that waits for its time; 0 if it is there, undefined if there is none. */
  readonly nextIn: number | undefined
}

/** How a run ended that did not succeed. */
export interface Ending {
  readonly state: 'waiting' | 'failed' | 'cancelled'
  /** Milliseconds until the next run. */
  readonly pause?: number
  readonly error: string
  /** A line of JSON. */
  readonly line: string
}

/** Rows that were taken back from processes that are gone. */
export interface Recovered {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly state: JobState
}

const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const

/** Milliseconds for which a run whose time is over may take to stop, and the end of its lease thereafter. */
export const grace = 5_000

export class JobStore {
  static readonly inject = [Database, Clock]
  readonly database: Database
  readonly #clock: Clock
  readonly #prepared = new Map<string, OwnSql>()

  constructor(database: Database, clock: Clock) {
    this.database = database
    this.#clock = clock
  }

  /** Milliseconds since 1970 by the database's clock. */
  get now(): number {
    return this.database.now(this.#clock)
  }

  /** @returns the ids, in order; of a `unique` job that stands already none */
  async insert(jobs: readonly NewJob[], when: When): Promise<number[]> {
    const ids: number[] = []
    for (let from = 0; from < jobs.length;) {
      const size = sizes.findLast((one) => one <= jobs.length - from) ?? 1
      const rows = await this.#insertSome(jobs.slice(from, from + size), when)
      ids.push(...rows)
      from += size
    }
    return ids
  }

  async #insertSome(jobs: readonly NewJob[], when: When): Promise<number[]> {
    const isUnique = jobs.some(({ unique }) => unique !== null)
    const statement = this.#prepare(
      `insert ${jobs.length} ${when.kind} ${isUnique}`,
      'insert',
      (words) => writeInsert(words, jobs.length, when.kind, isUnique),
    )
    const values: Record<string, string | number | null> = { shift: this.shift, waits: this.shift }
    if (when.kind === 'at') values.at = when.at.toISOString()
    if (when.kind === 'in') values.waits = this.shift + when.ms
    for (const [index, job] of jobs.entries()) {
      values[`name${index}`] = job.name
      values[`body${index}`] = job.body
      values[`priority${index}`] = job.priority
      values[`retries${index}`] = job.retries
      values[`backoff${index}`] = job.backoff
      values[`keep${index}`] = job.keep
      values[`unique${index}`] = job.unique
      values[`group${index}`] = job.group
      values[`trace${index}`] = job.trace
    }
    const rows = await statement.rows(values)
    // Keys are given in the order of the rows, whatever the order of the answer.
    return rows.map(([id]) => Number(id)).sort((one, other) => one - other)
  }

  /** The job that stands with this key. */
  async standing(unique: string): Promise<number | undefined> {
    const statement = this.#prepare(
      'standing',
      'select',
      ({ value }) =>
        `select id from jobs where unique_key = ${value('unique')} and state in ('waiting', 'running')`,
    )
    const [row] = await statement.rows({ unique })
    return row && Number(row[0])
  }

  /** @param names that could be taken */
  async look(names: readonly string[]): Promise<Look> {
    const statement = this.#prepare(`look ${names.length}`, 'select', ({ value, now, millis }) => {
      const known = names.map((_, index) => value(`name${index}`)).join(', ')
      const ready = `select 1 from jobs where name in (${known}) and state = 'waiting' and later_at is null limit 1`
      return `select (${ready}),
  (select 1 from jobs where state = 'running' and lease_until < ${now(value('shift'))} order by lease_until limit 1),
  ${millis('(select min(later_at) from jobs where later_at is not null)')} - ${millis(now(value('shift')))}`
    })
    const values = Object.fromEntries(names.map((name, index) => [`name${index}`, name]))
    const [row = []] = await statement.rows({ ...values, shift: this.shift })
    const [isReady, hasLost, nextIn] = row
    return {
      isReady: isReady !== null && isReady !== undefined,
      hasLost: hasLost !== null && hasLost !== undefined,
      nextIn: nextIn === null || nextIn === undefined ? undefined : Math.max(0, Number(nextIn)),
    }
  }

  /** The names of which a job is due: whose first one is first comes first. */
  async heads(names: readonly string[]): Promise<string[]> {
    const statement = this.#prepare(`heads ${names.length}`, 'select', ({ value }) => {
      const heads = names.map(
        (_, index) => `select * from (select name, priority, run_at, id from jobs
  where name = ${value(`name${index}`)} and state = 'waiting' and later_at is null
  order by priority desc, run_at, id limit 1) as head${index}`,
      )
      return `select name from (${heads.join(' union all ')}) as heads order by priority desc, run_at, id`
    })
    const values = Object.fromEntries(names.map((name, index) => [`name${index}`, name]))
    return (await statement.rows(values)).map(([name]) => String(name))
  }

  /** How many wait and run, and for how many milliseconds the oldest waits that is due. */
  async figures(): Promise<{ waiting: number; running: number; oldest: number }> {
    const statement = this.#prepare('figures', 'select', ({ value, now, millis }) => {
      const oldest = `(select min(run_at) from jobs where state = 'waiting' and later_at is null)`
      return `select (select count(*) from jobs where state = 'waiting'),
  (select count(*) from jobs where state = 'running'), ${millis(now(value('shift')))} - ${millis(oldest)}`
    })
    const [row = []] = await statement.rows({ shift: this.shift })
    const [waiting, running, oldest] = row
    return { waiting: Number(waiting), running: Number(running), oldest: Number(oldest ?? 0) }
  }

  /** How many wait, by name. */
  async waitingNames(): Promise<Map<string, number>> {
    const statement = this.#prepare(
      'waiting names',
      'select',
      () =>
        `select name, count(*) from jobs where state = 'waiting' and later_at is null group by name`,
    )
    return new Map((await statement.rows()).map(([name, count]) => [String(name), Number(count)]))
  }

  /** Lets those wait no longer whose time has come. @returns how many */
  promote(): Promise<number> {
    const statement = this.#prepare(
      'promote',
      'update',
      ({ value, now, lockFree }) =>
        `update jobs set later_at = null where id in (select id from jobs where later_at <= ${now(value('shift'))} order by later_at limit 1000${lockFree})`,
    )
    return statement.change({ shift: this.shift })
  }

  /** Takes due rows of these names: those of higher priority first, then by time. */
  async take(rooms: readonly Room[], most: number, worker: string): Promise<Taken[]> {
    const statement = this.#prepare(`take ${rooms.length}`, 'update', (words) =>
      writeTake(words, rooms.length),
    )
    const values: Record<string, string | number> = {
      most,
      worker,
      shift: this.shift,
      lease: this.shift + lease,
      grace: this.shift + grace + 1000,
    }
    for (const [index, { name, most: ofName, timeout }] of rooms.entries()) {
      values[`name${index}`] = name
      values[`most${index}`] = Math.min(most, ofName)
      values[`timeout${index}`] = timeout
    }
    return inOrder((await statement.rows(values)).map(toTaken))
  }

  /** @returns the ids of those that were still this process's */
  async done(ended: readonly Pick<Taken, 'id' | 'claims'>[], worker: string): Promise<Set<number>> {
    const still = new Set<number>()
    for (let from = 0; from < ended.length; from += 64) {
      const some = ended.slice(from, from + 64)
      const [first] = some
      if (first === undefined) break
      const size = sizes.find((one) => one >= some.length) ?? 64
      const statement = this.#prepare(`done ${size}`, 'update', (words) => writeDone(words, size))
      const values: Record<string, string | number> = { worker, shift: this.shift }
      for (let index = 0; index < size; index++) {
        // What is missing repeats the first one.
        const { id, claims } = some[index] ?? first
        values[`id${index}`] = id
        values[`claims${index}`] = claims
      }
      for (const [id] of await statement.rows(values)) still.add(Number(id))
    }
    return still
  }

  /** Ends a run that did not succeed. @returns false if it was this process's no more */
  async end(
    { id, claims }: Pick<Taken, 'id' | 'claims'>,
    worker: string,
    ending: Ending,
  ): Promise<boolean> {
    const { state, pause = 0, error, line } = ending
    const statement = this.#prepare(`end ${state}`, 'update', ({ value, now }) => {
      const later = state === 'waiting' ? now(value('pause')) : 'null'
      const over = state === 'waiting' ? 'null' : now(value('shift'))
      const kept = state === 'cancelled' ? now(`keep * 1000 + ${value('shift')}`) : 'null'
      const runAt = state === 'waiting' ? `run_at = ${now(value('pause'))}, ` : ''
      return `update jobs set state = '${state}', ${runAt}later_at = ${later}, ended_at = ${over}, keep_until = ${kept},
  worker = null, lease_until = null, deadline = null, error = ${value('error')}, errors = coalesce(errors, '') || ${value('line')}
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`
    })
    const shift = this.shift
    return (
      (await statement.change({ id, claims, worker, shift, pause: shift + pause, error, line })) ===
      1
    )
  }

  /** Gives a run back that was not finished, as if it had not been begun. */
  async giveBack({ id, claims }: Pick<Taken, 'id' | 'claims'>, worker: string): Promise<boolean> {
    const statement = this.#prepare(
      'give back',
      'update',
      ({ value }) =>
        `update jobs set state = 'waiting', attempt = attempt - 1, worker = null, lease_until = null, deadline = null, started_at = null
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`,
    )
    return (await statement.change({ id, claims, worker })) === 1
  }

  async progress(
    { id, claims }: Pick<Taken, 'id' | 'claims'>,
    worker: string,
    { done, text }: { readonly done: number; readonly text: string | null },
  ): Promise<boolean> {
    const statement = this.#prepare(
      'progress',
      'update',
      ({ value }) =>
        `update jobs set progress = ${value('done')}, progress_text = ${value('text')}
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`,
    )
    return (await statement.change({ id, claims, worker, done, text })) === 1
  }

  /** What the thread repeats: renews the leases of this process, and takes rows back whose lease has ended. */
  pulses(worker: string): { readonly statement: OwnSql; readonly values: SqlValues }[] {
    return [
      {
        statement: this.#renewal,
        values: { worker, shift: this.shift, lease: this.shift + lease },
      },
      { statement: this.#release, values: { shift: this.shift } },
      { statement: this.#recovery, values: this.#recoveryValues },
    ]
  }

  get #renewal(): OwnSql {
    return this.#prepare(
      'renew',
      'update',
      ({ value, now }) =>
        `update jobs set lease_until = ${now(value('lease'))}
where state = 'running' and worker = ${value('worker')} and deadline > ${now(value('shift'))}
returning id, claims, case when cancel_at is null then 0 else 1 end`,
    )
  }

  /** Takes rows back whose lease has ended. A lost run counts. */
  async recover(): Promise<Recovered[]> {
    await this.#release.rows({ shift: this.shift })
    return (await this.#recovery.rows(this.#recoveryValues)).map(toRecovered)
  }

  /**
   * A run whose time is over and that still stands there is an endless loop: what else that process holds cannot go on there,
   * however long its thread renews it. It is given back, as if it had not been begun.
   */
  get #release(): OwnSql {
    return this.#prepare('release', 'update', ({ value, now }) => {
      const late = `select worker from jobs where state = 'running' and deadline <`
      return `update jobs set state = 'waiting', attempt = attempt - 1, worker = null, lease_until = null, deadline = null, started_at = null
where state = 'running' and deadline > ${now(value('shift'))} and worker in (${late} ${now(value('shift'))})
returning id`
    })
  }

  get #recovery(): OwnSql {
    return this.#prepare('recover', 'update', ({ value, now, lockFree }) => {
      const isOver = 'attempt > retries'
      return `update jobs set
  state = case when cancel_at is not null then 'cancelled' when ${isOver} then 'failed' else 'waiting' end,
  ended_at = case when cancel_at is not null or ${isOver} then ${now(value('shift'))} end,
  keep_until = case when cancel_at is not null then ${now(`keep * 1000 + ${value('shift')}`)} end,
  worker = null, lease_until = null, deadline = null, error = ${value('error')},
  errors = coalesce(errors, '') || ${value('line')}
where id in (select id from jobs where state = 'running' and lease_until < ${now(value('shift'))} order by lease_until limit 100${lockFree})
returning id, name, attempt, state`
    })
  }

  get #recoveryValues(): SqlValues {
    const error =
      'The lease ended: its process was killed, paused or blocked, or the run exceeded its time.'
    return { shift: this.shift, error, line: `${JSON.stringify({ message: error })}\n` }
  }

  /** @returns what it was before; undefined if there is nothing to cancel */
  async cancel(id: number): Promise<'waiting' | 'running' | undefined> {
    const statement = this.#prepare(
      'cancel',
      'update',
      ({ value, now }) =>
        `update jobs set cancel_at = ${now(value('shift'))}, later_at = null,
  ended_at = case when state = 'waiting' then ${now(value('shift'))} end,
  keep_until = case when state = 'waiting' then ${now(`keep * 1000 + ${value('shift')}`)} end,
  state = case when state = 'waiting' then 'cancelled' else state end
where id = ${value('id')} and state in ('waiting', 'running') returning state`,
    )
    const [row] = await statement.rows({ id, shift: this.shift })
    if (row === undefined) return undefined
    return row[0] === 'cancelled' ? 'waiting' : 'running'
  }

  /** Lets an ended one wait again, with all its attempts. */
  async again(id: number): Promise<boolean> {
    const statement = this.#prepare(
      'again',
      'update',
      ({ value, now }) =>
        `update jobs set state = 'waiting', attempt = 0, run_at = ${now(value('shift'))}, later_at = null, cancel_at = null,
  started_at = null, ended_at = null, keep_until = null, progress = null, progress_text = null
where id = ${value('id')} and state in ('failed', 'cancelled') and not exists (
  select 1 from jobs other where other.unique_key = jobs.unique_key and other.state in ('waiting', 'running'))`,
    )
    return (await statement.change({ id, shift: this.shift })) === 1
  }

  async counts(): Promise<Map<JobState, number>> {
    const statement = this.#prepare(
      'counts',
      'select',
      () => 'select state, count(*) from jobs group by state',
    )
    const rows = await statement.rows()
    return new Map(rows.map(([state, count]) => [state as JobState, Number(count)]))
  }

  /** Removes rows whose time is over, in pieces. @returns how many */
  sweep(): Promise<number> {
    const statement = this.#prepare(
      'sweep',
      'delete',
      ({ value, now, lockFree }) =>
        `delete from jobs where id in (select id from jobs where keep_until < ${now(value('shift'))} and state <> 'running' order by keep_until limit 500${lockFree})`,
    )
    return statement.change({ shift: this.shift })
  }

  /** A statement of these words, prepared once. */
  #prepare(
    key: string,
    kind: 'select' | 'insert' | 'update' | 'delete',
    write: (words: SqlWords) => string,
  ): OwnSql {
    let prepared = this.#prepared.get(key)
    if (prepared === undefined) {
      prepared = this.database.prepare({ kind, tables: ['jobs'] }, write)
      this.#prepared.set(key, prepared)
    }
    return prepared
  }

  /** Milliseconds by which a test has moved the clock. */
  get shift(): number {
    return Math.round(this.#clock.moved())
  }

  /** Statements for other files of this module. */
  prepare(
    key: string,
    kind: 'select' | 'insert' | 'update' | 'delete',
    write: (words: SqlWords) => string,
  ): OwnSql {
    return this.#prepare(key, kind, write)
  }
}

/** Milliseconds for which a schedule stands without a sign. */
export { scheduleLasts }

function writeInsert(
  { value, now }: SqlWords,
  count: number,
  kind: When['kind'],
  isUnique: boolean,
): string {
  const row = (index: number): string => {
    const runAt = (): string => (kind === 'at' ? value('at') : now(value('waits')))
    const cells = [
      value(`name${index}`),
      `'waiting'`,
      value(`body${index}`),
      value(`priority${index}`),
      runAt(),
      kind === 'now' ? 'null' : runAt(),
      '0',
      value(`retries${index}`),
      value(`backoff${index}`),
      value(`keep${index}`),
      '0',
      value(`unique${index}`),
      value(`group${index}`),
      value(`trace${index}`),
      now(value('shift')),
    ]
    return `(${cells.join(', ')})`
  }
  const rows = Array.from({ length: count }, (_, index) => row(index))
  const otherwise = isUnique ? ' on conflict do nothing' : ''
  return `insert into jobs (name, state, body, priority, run_at, later_at, attempt, retries, backoff, keep, claims, unique_key, group_key, trace, added_at)
values ${rows.join(',\n')}${otherwise} returning id`
}

/** By an index for each name, so that names which have no room, or which nobody here knows, cost nothing. */
function writeTake({ value, now, millis, lockFree }: SqlWords, count: number): string {
  const heads = Array.from(
    { length: count },
    (_, index) => `select * from (
    select id, priority, run_at, cast(${value(`timeout${index}`)} as double precision) as lasts
    from jobs where name = ${value(`name${index}`)} and state = 'waiting' and later_at is null
    order by priority desc, run_at, id limit ${value(`most${index}`)}${lockFree}) as head${index}`,
  )
  return `with picked as materialized (
  select id, lasts from (${heads.join(' union all\n  ')}) as heads
  order by priority desc, run_at, id limit ${value('most')})
update jobs set state = 'running', attempt = attempt + 1, claims = claims + 1, worker = ${value('worker')},
  started_at = ${now(value('shift'))}, lease_until = ${now(value('lease'))}, deadline = ${now(`picked.lasts + ${value('grace')}`)}, cancel_at = null
from picked where jobs.id = picked.id and jobs.state = 'waiting'
returning ${takenColumns(millis, now(value('shift')))}`
}

/** For `toTaken`. */
export function takenColumns(millis: SqlWords['millis'], now: string): string {
  return `jobs.id, jobs.name, jobs.claims, jobs.attempt, cast(jobs.body as text), jobs.priority, ${millis('jobs.run_at')}, ${millis(now)}, jobs.schedule, jobs.trace, jobs.retries, jobs.backoff`
}

function writeDone({ value, now }: SqlWords, size: number): string {
  const pairs = Array.from(
    { length: size },
    (_, index) =>
      `(cast(${value(`id${index}`)} as bigint), cast(${value(`claims${index}`)} as bigint))`,
  )
  return `with ended (id, claims) as (values ${pairs.join(', ')})
update jobs set state = 'done', ended_at = ${now(value('shift'))}, keep_until = ${now(`keep * 1000 + ${value('shift')}`)},
  worker = null, lease_until = null, deadline = null
from ended where jobs.id = ended.id and jobs.claims = ended.claims and jobs.worker = ${value('worker')} and jobs.state = 'running'
returning jobs.id`
}

export function toTaken(row: readonly unknown[]): Taken {
  const [id, name, claims, attempt, body, priority, runAt, now, schedule, trace, retries, backoff] =
    row
  return {
    id: Number(id),
    name: String(name),
    claims: Number(claims),
    attempt: Number(attempt),
    body: body as string | null,
    priority: Number(priority),
    runAt: Number(runAt),
    now: Number(now),
    schedule: schedule as string | null,
    trace: trace as string | null,
    retries: Number(retries),
    backoff: Number(backoff),
  }
}

export function toRecovered([id, name, attempt, state]: readonly unknown[]): Recovered {
  return {
    id: Number(id),
    name: String(name),
    attempt: Number(attempt),
    state: state as JobState,
  }
}

/** Rows are answered in no order. */
function inOrder(taken: Taken[]): Taken[] {
  return taken.sort(
    (one, other) => other.priority - one.priority || one.runAt - other.runAt || one.id - other.id,
  )
}
