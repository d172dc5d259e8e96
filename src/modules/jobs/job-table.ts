/** The table `jobs`: its record, the connection to the database, its row types, and the statements that manage jobs. */
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

/** The state of a job. */
export const jobStates = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const

export type JobState = (typeof jobStates)[number]

/** At most one of these rows has the same unique key. Rows without a key are not in the index. */
const activeWithUniqueKey = { state: { in: ['waiting', 'running'] }, uniqueKey: { isNull: false } }

const due = { state: 'waiting', laterAt: { isNull: true } }

/**
 * A job. Clients need a role of `jobs({ roles })` to read jobs, and cannot write them. The application reads them with
 * `database.records(JobEntry)` and changes them with `Jobs` only.
 */
@Record<JobEntry>({
  table: 'jobs',
  name: 'jobEntry',
  plural: 'jobEntries',
  writes: false,
  subscriptions: false,
  rows: (user, caller) => caller.get(JobReaders).canRead(user, caller.by),
  indexes: [
    { fields: ['uniqueKey'], where: activeWithUniqueKey, unique: true },
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
  /** The body as it was added. Null without a body, and for `@Job({ secret: true })`. */
  @Field('json', { nullable: true }) body!: unknown
  /** The body of `@Job({ secret: true })`, until the job ends. Never sent to clients. */
  @Field('json', { nullable: true, hidden: true }) secretBody!: unknown
  /** When the secret body was deleted. */
  @Field('datetime', { nullable: true, hidden: true }) emptiedAt!: string | null
  /** 0 to 100. Higher priorities run first. */
  @Field('integer') priority!: number
  /** When the job is due. */
  @Field('datetime') runAt!: string
  /** The same as `runAt` while the job is delayed, else null. */
  @Field('datetime', { nullable: true, hidden: true }) laterAt!: string | null
  /** The number of started runs. */
  @Field('integer') attempt!: number
  /** How many retries are allowed. */
  @Field('integer') retries!: number
  /** Milliseconds before the first retry. */
  @Field('integer', { hidden: true }) backoff!: number
  /** Seconds for which a finished job is stored. */
  @Field('integer', { hidden: true }) keep!: number
  /** Increases with each claim. Only the latest claim may store the result. */
  @Field('integer', { hidden: true }) claims!: number
  @Field('string', { nullable: true }) uniqueKey!: string | null
  @Field('string', { nullable: true }) groupKey!: string | null
  /** `cron 0 3 * * * Europe/Berlin` or `every 600`. Null for jobs that were added. */
  @Field('string', { nullable: true }) schedule!: string | null
  /** The id of the worker that runs the job. */
  @Field('string', { nullable: true, hidden: true }) worker!: string | null
  /** Until then the job belongs to its worker, which renews the lease. */
  @Field('datetime', { nullable: true, hidden: true }) leaseUntil!: string | null
  /** After this time the lease is not renewed, because the run did not stop at its timeout. */
  @Field('datetime', { nullable: true, hidden: true }) deadline!: string | null
  /** When the job was cancelled. */
  @Field('datetime', { nullable: true, hidden: true }) cancelAt!: string | null
  /** From 0 to 1, as reported by the job. */
  @Field('numeric', { nullable: true }) progress!: number | null
  @Field('string', { nullable: true }) progressText!: string | null
  /** The last error, with its stack. */
  @Field('text', { nullable: true }) error!: string | null
  /** All errors, one line of JSON each. */
  @Field('text', { nullable: true, hidden: true }) errors!: string | null
  /** The `traceparent` of the code that added the job. */
  @Field('string', { nullable: true, hidden: true }) trace!: string | null
  @Field('datetime') addedAt!: string
  @Field('datetime', { nullable: true }) startedAt!: string | null
  @Field('datetime', { nullable: true }) endedAt!: string | null
  /** When the row is removed. */
  @Field('datetime', { nullable: true, hidden: true }) keepUntil!: string | null
}

/** Decides which clients may read jobs: clients with a role of `jobs({ roles })`. */
export class JobReaders {
  readonly #roles: ReadonlySet<string>

  /** @param roles empty: no client may read jobs */
  constructor(roles: readonly string[]) {
    this.#roles = new Set(roles)
  }

  /** The static key has every role. */
  canRead(user: Claims | null, by: 'key' | 'token' | undefined): boolean {
    if (this.#roles.size === 0) return false
    if (by === 'key') return true
    const roles: unknown = user?.roles
    return Array.isArray(roles) && roles.some((role) => this.#roles.has(role as string))
  }
}

/** The connection to the table. It prepares each statement once. */
export class JobTable {
  static readonly inject = [Database, Clock]
  readonly database: Database
  readonly #clock: Clock
  readonly #prepared = new Map<string, CustomSql>()

  constructor(database: Database, clock: Clock) {
    this.database = database
    this.#clock = clock
  }

  /** Milliseconds since 1970, by the clock of the database. */
  get now(): number {
    return this.database.now(this.#clock)
  }

  /** Milliseconds by which a test has moved the clock. */
  get shift(): number {
    return Math.round(this.#clock.moved())
  }

  /** @param key statements with the same key have the same text */
  prepare(
    key: string,
    kind: CustomSqlOptions['kind'],
    write: (fragments: SqlFragments) => string,
  ): CustomSql {
    let prepared = this.#prepared.get(key)
    if (prepared === undefined) {
      prepared = this.database.prepare({ kind, tables: ['jobs'] }, write)
      this.#prepared.set(key, prepared)
    }
    return prepared
  }
}

/** The stored values of a new job. */
export interface NewJob {
  readonly name: string
  /** JSON text, or null. */
  readonly body: string | null
  /** The body is hidden from clients and deleted when the job ends. */
  readonly isSecret: boolean
  readonly priority: number
  readonly retries: number
  readonly backoff: number
  readonly keep: number
  readonly unique: string | null
  readonly group: string | null
  readonly trace: string | null
}

/** When a job is due: now, after a delay, or at a date. */
export type When =
  | { readonly kind: 'now' }
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'at'; readonly at: Date }

/** A row that this worker has claimed. */
export interface ClaimedJob {
  readonly id: number
  readonly name: string
  readonly claims: number
  readonly attempt: number
  readonly body: string | null
  readonly priority: number
  /** Milliseconds since 1970. */
  readonly runAt: number
  /** The time of the claim, by the clock of the database. */
  readonly now: number
  readonly schedule: string | null
  readonly trace: string | null
  readonly retries: number
  readonly backoff: number
}

/** Identifies a run. A worker that has lost the job has an older number of claims. */
export type RunClaim = Pick<ClaimedJob, 'id' | 'claims'>

/** How many jobs of a name may be claimed. */
export interface ClaimLimit {
  readonly name: string
  readonly maxJobs: number
  /** Milliseconds. */
  readonly timeout: number
}

/** A job whose lease expired. */
export interface RecoveredJob {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly state: JobState
}

/** The duration of a lease, and the time between two renewals. */
export const leaseMs = 15_000
export const renewalIntervalMs = 5_000
/** No lease lasts longer, unless the clock of the database was set back. */
export const maxLeaseMs = 2 * leaseMs
/** How long a run may take to stop after its timeout. */
export const stopGraceMs = 5_000
/** How long a schedule is stored that no process has. */
export const scheduleLifetimeMs = 120_000

/** The columns that `toClaimedJob` reads. */
export function claimedColumns(millis: SqlFragments['millis'], now: string): string {
  return `jobs.id, jobs.name, jobs.claims, jobs.attempt, cast(coalesce(jobs.body, jobs.secret_body) as text), jobs.priority, ${millis('jobs.run_at')}, ${millis(now)}, jobs.schedule, jobs.trace, jobs.retries, jobs.backoff`
}

export function toClaimedJob(row: SqlRow): ClaimedJob {
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

/** Reads a row of `id, name, attempt, state`. */
export function toRecoveredJob([id, name, attempt, state]: SqlRow): RecoveredJob {
  return { id: Number(id), name: String(name), attempt: Number(attempt), state: state as JobState }
}

/** The numbers of waiting and running jobs, and the milliseconds since the oldest waiting one was due. */
export async function readQueueMetrics(
  table: JobTable,
): Promise<{ waiting: number; running: number; oldest: number }> {
  const statement = table.prepare('queue metrics', 'select', ({ value, now, millis, indexed }) => {
    const oldest = `(select min(${indexed('run_at')}) from jobs where state = 'waiting' and later_at is null)`
    return `select (select count(*) from jobs where state = 'waiting'),
  (select count(*) from jobs where state = 'running'), ${millis(now(value('shift')))} - ${millis(oldest)}`
  })
  const [row = []] = await statement.rows({ shift: table.shift })
  const [waiting, running, oldest] = row
  return { waiting: Number(waiting), running: Number(running), oldest: Number(oldest ?? 0) }
}

/** The number of due jobs, by name. */
export async function countDueByName(table: JobTable): Promise<Map<string, number>> {
  const statement = table.prepare(
    'due by name',
    'select',
    () =>
      `select name, count(*) from jobs where state = 'waiting' and later_at is null group by name`,
  )
  return new Map((await statement.rows()).map(([name, count]) => [String(name), Number(count)]))
}

export async function countStates(table: JobTable): Promise<Record<JobState, number>> {
  const statement = table.prepare(
    'counts',
    'select',
    () => 'select state, count(*) from jobs group by state',
  )
  const counts = new Map((await statement.rows()).map(([state, count]) => [state, Number(count)]))
  return Object.fromEntries(jobStates.map((state) => [state, counts.get(state) ?? 0])) as Record<
    JobState,
    number
  >
}

/** @returns the state before; undefined if the job neither waits nor runs */
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

/**
 * Returns an ended job to the queue, with all its attempts. Not if its body was deleted, or if an active job has its unique key.
 */
export async function retryRow(table: JobTable, id: number): Promise<boolean> {
  const statement = table.prepare(
    'retry',
    'update',
    ({ value, now }) =>
      `update jobs set state = 'waiting', attempt = 0, run_at = ${now(value('shift'))}, later_at = null, cancel_at = null,
  started_at = null, ended_at = null, keep_until = null, progress = null, progress_text = null
where id = ${value('id')} and state in ('failed', 'cancelled') and emptied_at is null and not exists (
  select 1 from jobs other where other.unique_key = jobs.unique_key and other.state in ('waiting', 'running'))`,
  )
  try {
    // A savepoint, so that an error does not end the open transaction.
    const changed = await table.database.transaction(
      () => statement.change({ id, shift: table.shift }),
      { isolation: 'read committed' },
    )
    return changed === 1
  } catch (error) {
    // A job with the same unique key was added at the same time.
    if (await hasActiveDuplicate(table, id)) return false
    throw error
  }
}

/** True if another active job has the same unique key. */
export async function hasActiveDuplicate(table: JobTable, id: number): Promise<boolean> {
  const statement = table.prepare(
    'active duplicate',
    'select',
    ({ value }) => `select 1 from jobs join jobs other on other.unique_key = jobs.unique_key
where jobs.id = ${value('id')} and other.id <> jobs.id and other.state in ('waiting', 'running')`,
  )
  return (await statement.rows({ id })).length > 0
}

/** The largest number of rows that one `sweep` changes. */
export const sweepBatchSize = 500

/** Removes a batch of expired rows, and the secret bodies of expired failed jobs. @returns the number of rows */
export async function sweep(table: JobTable): Promise<number> {
  const { shift } = table
  const due = ({ value, now, indexed, lockFree }: SqlFragments, state: string): string => {
    const keepUntil = indexed('keep_until')
    return `id in (select id from jobs where keep_until is not null and ${keepUntil} < ${now(value('shift'))} and ${state} order by ${keepUntil} limit ${sweepBatchSize}${lockFree})`
  }
  const clearSecrets = table.prepare(
    'sweep secrets',
    'update',
    (fragments) =>
      `update jobs set keep_until = null, ${clearSecretBody(fragments.now(fragments.value('shift')))}
where ${due(fragments, `state = 'failed'`)}`,
  )
  const remove = table.prepare(
    'sweep',
    'delete',
    (fragments) => `delete from jobs where ${due(fragments, `state not in ('running', 'failed')`)}`,
  )
  return Math.max(await clearSecrets.change({ shift }), await remove.change({ shift }))
}

/** SQL that deletes a secret body. @param now SQL of the current time */
export function clearSecretBody(now: string): string {
  return `emptied_at = case when secret_body is not null then ${now} else emptied_at end, secret_body = null`
}
