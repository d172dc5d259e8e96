/** Statements for people and for order: figures, cancelling, running again, removing. */

import {
  Field,
  Record,
  type Claims,
  Clock,
  Database,
  type CustomSql,
  type CustomSqlOptions,
  type SqlFragments,
  type SqlRow,
} from '../../index.js'

/** The record of a job: a row of the table `jobs`, for those who read records. */

/** Where a job stands. */
export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'

export const jobStates: readonly JobState[] = ['waiting', 'running', 'done', 'failed', 'cancelled']

/** Of these there is at most one with the same `unique`; those without one cost the index nothing. */
const open = { state: { in: ['waiting', 'running'] }, uniqueKey: { isNull: false } }

const due = { state: 'waiting', laterAt: { isNull: true } }

/**
 * A job. Clients may read jobs with a role of `jobs({ roles })`, and write none; the program reads them by
 * `database.records(JobEntry)` and changes them by `Jobs` alone.
 */
@Record<JobEntry>({
  table: 'jobs',
  name: 'jobEntry',
  plural: 'jobEntries',
  writes: false,
  subscriptions: false,
  rows: (user, caller) => caller.get(Readers).admits(user, caller.by),
  indexes: [
    { fields: ['uniqueKey'], where: open, unique: true },
    { fields: ['name', '-priority', 'runAt', 'id'], where: due },
    { fields: ['laterAt'], where: { laterAt: { isNull: false } } },
    { fields: ['leaseUntil'], where: { state: 'running' } },
    { fields: ['keepUntil'], where: { keepUntil: { isNull: false } } },
  ],
})
export class JobEntry {
  @Field('id') id!: number
  /** `Mail.welcome` */
  @Field('string') name!: string
  @Field('string', { oneOf: [...jobStates] }) state!: JobState
  /** As it was added; null without one, and of `@Job({ secret: true })`. */
  @Field('json', { nullable: true }) body!: unknown
  /** The body of `@Job({ secret: true })`, for the program alone, until the job ends. */
  @Field('json', { nullable: true, hidden: true }) secretBody!: unknown
  /** Since when the body is gone. */
  @Field('datetime', { nullable: true, hidden: true }) emptiedAt!: string | null
  /** 0 to 100; higher ones are first. */
  @Field('integer') priority!: number
  /** When it was or is to be run, at the earliest. */
  @Field('datetime') runAt!: string
  /** While it waits for its time: that time. */
  @Field('datetime', { nullable: true, hidden: true }) laterAt!: string | null
  /** The runs that were begun: from 1. */
  @Field('integer') attempt!: number
  /** How often it may run again. */
  @Field('integer') retries!: number
  /** Milliseconds before the first repetition. */
  @Field('integer', { hidden: true }) backoff!: number
  /** Seconds for which it is kept when it is done. */
  @Field('integer', { hidden: true }) keep!: number
  /** Counts who has taken it: only the last one may say how it ended. */
  @Field('integer', { hidden: true }) claims!: number
  @Field('string', { nullable: true }) uniqueKey!: string | null
  @Field('string', { nullable: true }) groupKey!: string | null
  /** `cron 0 3 * * * Europe/Berlin`, `every 600`; null for jobs that were added. */
  @Field('string', { nullable: true }) schedule!: string | null
  /** The process that runs it. */
  @Field('string', { nullable: true, hidden: true }) worker!: string | null
  /** Until when it is that process's, unless the process says more. */
  @Field('datetime', { nullable: true, hidden: true }) leaseUntil!: string | null
  /** From then on its lease is not renewed: its time is over, and it has not stopped. */
  @Field('datetime', { nullable: true, hidden: true }) deadline!: string | null
  /** Since when it is to stop. */
  @Field('datetime', { nullable: true, hidden: true }) cancelAt!: string | null
  /** From 0 to 1, as the job tells. */
  @Field('numeric', { nullable: true }) progress!: number | null
  @Field('string', { nullable: true }) progressText!: string | null
  /** The last fault, with its stack. */
  @Field('text', { nullable: true }) error!: string | null
  /** All faults, a line of JSON for each. */
  @Field('text', { nullable: true, hidden: true }) errors!: string | null
  /** The trace of who added it. */
  @Field('string', { nullable: true, hidden: true }) trace!: string | null
  @Field('datetime') addedAt!: string
  @Field('datetime', { nullable: true }) startedAt!: string | null
  @Field('datetime', { nullable: true }) endedAt!: string | null
  /** When its row is removed. */
  @Field('datetime', { nullable: true, hidden: true }) keepUntil!: string | null
}

/** Which clients of an application may read its jobs: nobody, until `jobs({ roles })` names roles. */

export class Readers {
  readonly #roles: ReadonlySet<string>

  /** @param roles empty: nobody */
  constructor(roles: readonly string[]) {
    this.#roles = new Set(roles)
  }

  /** The operator's key has every role. */
  admits(user: Claims | null, by: 'key' | 'token' | undefined): boolean {
    if (this.#roles.size === 0) return false
    if (by === 'key') return true
    const roles: unknown = user?.roles
    return Array.isArray(roles) && roles.some((role) => this.#roles.has(role as string))
  }
}

/** The table `jobs`: its database, its clock, and its statements, each prepared once. */

/** All times are the database's; `shift` is what a test has moved its clock by. */
export class JobTable {
  static readonly inject = [Database, Clock]
  readonly database: Database
  readonly #clock: Clock
  readonly #prepared = new Map<string, CustomSql>()

  constructor(database: Database, clock: Clock) {
    this.database = database
    this.#clock = clock
  }

  /** Milliseconds since 1970 by the database's clock. */
  get now(): number {
    return this.database.now(this.#clock)
  }

  /** Milliseconds by which a test has moved the clock. */
  get shift(): number {
    return Math.round(this.#clock.moved())
  }

  /** @param key statements of one key are the same */
  prepare(
    key: string,
    kind: CustomSqlOptions['kind'],
    write: (words: SqlFragments) => string,
  ): CustomSql {
    let prepared = this.#prepared.get(key)
    if (prepared === undefined) {
      prepared = this.database.prepare({ kind, tables: ['jobs'] }, write)
      this.#prepared.set(key, prepared)
    }
    return prepared
  }
}

/** What the statements on the table `jobs` take and give. Times are milliseconds unless they say otherwise. */

/** What is stored of a new job. */
export interface NewJob {
  readonly name: string
  /** JSON, or null. */
  readonly body: string | null
  /** Nobody reads the body, and it is emptied when the job ends. */
  readonly isSecret: boolean
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

/** By what a run is known: who has lost the row has an older count of claims. */
export type Claim = Pick<Taken, 'id' | 'claims'>

/** How many rows of a name may be taken. */
export interface Room {
  readonly name: string
  readonly most: number
  /** That a run may last. */
  readonly timeout: number
}

/** Rows that were taken back from processes that are gone. */
export interface Recovered {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly state: JobState
}

/** For which a row is its process's, and between two renewals. */
export const lease = 15_000
export const renewal = 5_000
/** No lease ends later than that, unless the database's clock was set back. */
export const tooLong = 2 * lease
/** For which a run whose time is over may take to stop, and the end of its lease thereafter. */
export const grace = 5_000
/** For which a schedule stands that no process knows. */
export const scheduleLasts = 120_000

/** For `toTaken`. */
export function takenColumns(millis: SqlFragments['millis'], now: string): string {
  return `jobs.id, jobs.name, jobs.claims, jobs.attempt, cast(coalesce(jobs.body, jobs.secret_body) as text), jobs.priority, ${millis('jobs.run_at')}, ${millis(now)}, jobs.schedule, jobs.trace, jobs.retries, jobs.backoff`
}

export function toTaken(row: SqlRow): Taken {
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

/** Of `id, name, attempt, state`. */
export function toRecovered([id, name, attempt, state]: SqlRow): Recovered {
  return { id: Number(id), name: String(name), attempt: Number(attempt), state: state as JobState }
}

/** How many wait and run, and for how many milliseconds the oldest waits that is due. */
export async function figures(
  table: JobTable,
): Promise<{ waiting: number; running: number; oldest: number }> {
  const statement = table.prepare('figures', 'select', ({ value, now, millis }) => {
    const oldest = `(select min(run_at) from jobs where state = 'waiting' and later_at is null)`
    return `select (select count(*) from jobs where state = 'waiting'),
  (select count(*) from jobs where state = 'running'), ${millis(now(value('shift')))} - ${millis(oldest)}`
  })
  const [row = []] = await statement.rows({ shift: table.shift })
  const [waiting, running, oldest] = row
  return { waiting: Number(waiting), running: Number(running), oldest: Number(oldest ?? 0) }
}

/** How many wait that are due, by name. */
export async function waitingNames(table: JobTable): Promise<Map<string, number>> {
  const statement = table.prepare(
    'waiting names',
    'select',
    () =>
      `select name, count(*) from jobs where state = 'waiting' and later_at is null group by name`,
  )
  return new Map((await statement.rows()).map(([name, count]) => [String(name), Number(count)]))
}

export async function countStates(table: JobTable): Promise<Map<JobState, number>> {
  const statement = table.prepare(
    'counts',
    'select',
    () => 'select state, count(*) from jobs group by state',
  )
  const rows = await statement.rows()
  return new Map(rows.map(([state, count]) => [state as JobState, Number(count)]))
}

/** @returns what it was before; undefined if there is nothing to cancel */
export async function cancelRow(
  table: JobTable,
  id: number,
): Promise<'waiting' | 'running' | undefined> {
  const isWaiting = `state = 'waiting'`
  const statement = table.prepare(
    'cancel',
    'update',
    ({ value, now }) =>
      `update jobs set cancel_at = ${now(value('shift'))}, later_at = null,
  ended_at = case when ${isWaiting} then ${now(value('shift'))} end,
  keep_until = case when ${isWaiting} then ${now(`keep * 1000 + ${value('shift')}`)} end,
  emptied_at = case when ${isWaiting} and secret_body is not null then ${now(value('shift'))} end,
  secret_body = case when ${isWaiting} then null else secret_body end,
  state = case when ${isWaiting} then 'cancelled' else state end
where id = ${value('id')} and state in ('waiting', 'running') returning state`,
  )
  const [row] = await statement.rows({ id, shift: table.shift })
  if (row === undefined) return undefined
  return row[0] === 'cancelled' ? 'waiting' : 'running'
}

/** Lets an ended one wait again, with all its attempts; none whose body is gone, or whose `unique` stands again. */
export async function runAgain(table: JobTable, id: number): Promise<boolean> {
  const statement = table.prepare(
    'again',
    'update',
    ({ value, now }) =>
      `update jobs set state = 'waiting', attempt = 0, run_at = ${now(value('shift'))}, later_at = null, cancel_at = null,
  started_at = null, ended_at = null, keep_until = null, progress = null, progress_text = null
where id = ${value('id')} and state in ('failed', 'cancelled') and emptied_at is null and not exists (
  select 1 from jobs other where other.unique_key = jobs.unique_key and other.state in ('waiting', 'running'))`,
  )
  return (await statement.change({ id, shift: table.shift })) === 1
}

/** Whether another one with its `unique` waits or runs. */
export async function isTaken(table: JobTable, id: number): Promise<boolean> {
  const statement = table.prepare(
    'again taken',
    'select',
    ({ value }) => `select 1 from jobs join jobs other on other.unique_key = jobs.unique_key
where jobs.id = ${value('id')} and other.id <> jobs.id and other.state in ('waiting', 'running')`,
  )
  return (await statement.rows({ id })).length > 0
}

/** How many rows a piece of `sweep` has at most. */
export const swept = 500

/** Removes rows whose time is over, and what failed secret ones were given, in pieces. @returns how many */
export async function sweep(table: JobTable): Promise<number> {
  const { shift } = table
  const due = (now: string, state: string, lockFree: string): string =>
    `id in (select id from jobs where keep_until < ${now} and ${state} order by keep_until limit ${swept}${lockFree})`
  const empty = table.prepare(
    'sweep secrets',
    'update',
    ({ value, now, lockFree }) =>
      `update jobs set keep_until = null, ${emptied(now(value('shift')))}
where ${due(now(value('shift')), `state = 'failed'`, lockFree)}`,
  )
  const remove = table.prepare(
    'sweep',
    'delete',
    ({ value, now, lockFree }) =>
      `delete from jobs where ${due(now(value('shift')), `state not in ('running', 'failed')`, lockFree)}`,
  )
  return Math.max(await empty.change({ shift }), await remove.change({ shift }))
}

/** What a secret job was given is gone. @param now SQL of a moment */
export function emptied(now: string): string {
  return `emptied_at = case when secret_body is not null then ${now} else emptied_at end, secret_body = null`
}
