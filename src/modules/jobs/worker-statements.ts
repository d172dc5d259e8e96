/**
 * The worker's SQL statements: find and claim due jobs, store how runs end, renew and recover leases. A running row belongs to
 * one process and one claim number, so a process that has lost a job cannot change its row.
 */
import type { SqlFragments, CustomSql, SqlValues } from '../../index.js'
import {
  type JobTable,
  stopGraceMs,
  leaseMs,
  claimedColumns,
  maxLeaseMs,
  toClaimedJob,
  type RunClaim,
  type ClaimLimit,
  type ClaimedJob,
  clearSecretBody,
  toRecoveredJob,
  type RecoveredJob,
} from './job-table.js'

/** The state of the queue, as a poll finds it. */
interface QueueState {
  /** A job is due. */
  readonly isReady: boolean
  /** A lease has expired, or ends later than any lease can. */
  readonly hasExpiredLease: boolean
  /** Milliseconds until the next delayed job is due. 0: it is due now. Undefined: there is none. */
  readonly nextInMs: number | undefined
}

/** The result of a claim cycle. */
interface ClaimResult {
  /** The ids of finished runs that this process still owned. */
  readonly doneIds: ReadonlySet<number>
  /** Higher priorities first, then by time. */
  readonly claimed: readonly ClaimedJob[]
}

/** @param names of the jobs that this worker runs */
export async function readQueueState(
  table: JobTable,
  names: readonly string[],
): Promise<QueueState> {
  const statement = table.prepare(
    `queue state ${names.length}`,
    'select',
    ({ value, now, millis, indexed }) => {
      const leaseUntil = indexed('lease_until')
      const nameList = names.map((_, index) => value(`name${index}`)).join(', ')
      const ready = `select 1 from jobs where name in (${nameList}) and state = 'waiting' and later_at is null limit 1`
      return `select (${ready}),
  (select 1 from jobs where state = 'running' and (${leaseUntil} < ${now(value('shift'))} or ${leaseUntil} > ${now(value('maxLease'))})
    order by ${leaseUntil} limit 1),
  ${millis(firstDelayed(indexed))} - ${millis(now(value('shift')))}`
    },
  )
  const { shift } = table
  const [row = []] = await statement.rows({
    ...nameValues(names),
    shift,
    maxLease: shift + maxLeaseMs,
  })
  const [isReady, hasExpiredLease, nextInMs] = row
  return {
    isReady: isReady !== null && isReady !== undefined,
    hasExpiredLease: hasExpiredLease !== null && hasExpiredLease !== undefined,
    nextInMs: toDelay(nextInMs),
  }
}

/** The names that have a due job, ordered by the priority and time of their first one. */
export async function findDueNames(table: JobTable, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const statement = table.prepare(`due names ${names.length}`, 'select', ({ value, indexed }) => {
    const runAt = indexed('run_at')
    const each = names.map(
      (_, index) => `select * from (select name, priority, ${runAt} as moment, id from jobs
  where name = ${value(`name${index}`)} and state = 'waiting' and later_at is null
  order by priority desc, ${runAt}, id limit 1) as candidate${index}`,
    )
    return `select name from (${each.join(' union all ')}) as candidates order by priority desc, moment, id`
  })
  return (await statement.rows(nameValues(names))).map(([name]) => String(name))
}

function nameValues(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [`name${index}`, name]))
}

/** The largest number of rows that `promoteDelayed` changes. */
export const promoteBatchSize = 1000

/** Makes delayed jobs due whose time has come. @returns how many */
export function promoteDelayed(table: JobTable): Promise<number> {
  const { shift } = table
  return table
    .prepare(
      'promote',
      'update',
      ({ value, now, indexed, lockFree }) =>
        `update jobs set later_at = null where id in (select id from jobs where later_at is not null and ${indexed('later_at')} <= ${now(value('shift'))} order by ${indexed('later_at')} limit ${promoteBatchSize}${lockFree})`,
    )
    .change({ shift })
}

/** @returns milliseconds until the next delayed job is due; undefined if there is none */
export async function timeUntilNext(table: JobTable): Promise<number | undefined> {
  const statement = table.prepare(
    'next time',
    'select',
    ({ value, now, millis, indexed }) =>
      `select ${millis(firstDelayed(indexed))} - ${millis(now(value('shift')))}`,
  )
  const [row = []] = await statement.rows({ shift: table.shift })
  return toDelay(row[0])
}

/** SQL of the first time at which a delayed job is due. */
function firstDelayed(indexed: SqlFragments['indexed']): string {
  return `(select min(${indexed('later_at')}) from jobs where later_at is not null)`
}

function toDelay(ms: unknown): number | undefined {
  return ms === null || ms === undefined ? undefined : Math.max(0, Number(ms))
}

/**
 * Stores finished runs and claims due jobs, in one statement. Each name is found by the index, so names without free slots cost
 * nothing.
 *
 * @param limits at least one
 * @param maxJobs the largest number of jobs claimed for all names together
 */
export async function finishAndClaim(
  table: JobTable,
  worker: string,
  finished: readonly RunClaim[],
  limits: readonly ClaimLimit[],
  maxJobs: number,
): Promise<ClaimResult> {
  const statement = table.prepare(`finish and claim ${limits.length}`, 'update', (fragments) =>
    writeFinishAndClaim(fragments, limits.length),
  )
  const { shift } = table
  const values: Record<string, string | number> = {
    maxJobs,
    worker,
    shift,
    lease: shift + leaseMs,
    grace: shift + stopGraceMs + 1000,
    finished: `[${finished.map(({ id, claims }) => `[${id},${claims}]`).join(',')}]`,
  }
  for (const [index, { name, maxJobs: maxOfName, timeout }] of limits.entries()) {
    values[`name${index}`] = name
    values[`maxJobs${index}`] = Math.min(maxJobs, maxOfName)
    values[`timeout${index}`] = timeout
  }
  const doneIds = new Set<number>()
  const claimed: ClaimedJob[] = []
  for (const row of await statement.rows(values)) {
    const [state, ...columns] = row
    if (state === 'done') doneIds.add(Number(columns[0]))
    else claimed.push(toClaimedJob(columns))
  }
  return { doneIds, claimed: byPriority(claimed) }
}

function writeFinishAndClaim(
  { value, now, millis, items, indexed, lockFree }: SqlFragments,
  count: number,
): string {
  const runAt = indexed('run_at')
  // SQLite would plan a bare placeholder by its value, again for each run.
  const limit = (name: string): string => `limit cast(${value(name)} as bigint)`
  const candidates = Array.from(
    { length: count },
    (_, index) => `select * from (
    select id, priority, ${runAt} as moment, cast(${value(`timeout${index}`)} as double precision) as timeout
    from jobs where name = ${value(`name${index}`)} and state = 'waiting' and later_at is null
    order by priority desc, ${runAt}, id ${limit(`maxJobs${index}`)}${lockFree}) as candidate${index}`,
  )
  return `with selected as materialized (
  select id, timeout from (${candidates.join(' union all\n  ')}) as candidates
  order by priority desc, moment, id ${limit('maxJobs')}),
changes as materialized (
  select id, 0 as claims, timeout, 1 as runs from selected union all
  select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), 0, 0 from (${items('finished')}) as finished)
update jobs set
  state = case when runs = 1 then 'running' else 'done' end,
  attempt = attempt + runs,
  claims = jobs.claims + runs,
  worker = case when runs = 1 then ${value('worker')} end,
  lease_until = case when runs = 1 then ${now(value('lease'))} end,
  deadline = case when runs = 1 then ${now(`timeout + ${value('grace')}`)} end,
  started_at = case when runs = 1 then ${now(value('shift'))} else started_at end,
  cancel_at = case when runs = 1 then null else cancel_at end,
  ended_at = case when runs = 1 then ended_at else ${now(value('shift'))} end,
  keep_until = case when runs = 1 then keep_until else ${now(`keep * 1000 + ${value('shift')}`)} end,
  emptied_at = case when runs = 0 and secret_body is not null then ${now(value('shift'))} else emptied_at end,
  secret_body = case when runs = 1 then secret_body end
from changes where jobs.id = changes.id and (runs = 1 and jobs.state = 'waiting'
  or runs = 0 and jobs.state = 'running' and jobs.claims = changes.claims and jobs.worker = ${value('worker')})
returning state, ${claimedColumns(millis, now(value('shift')))}`
}

/** `returning` has no order. */
function byPriority(claimed: ClaimedJob[]): ClaimedJob[] {
  return claimed.sort(
    (one, other) => other.priority - one.priority || one.runAt - other.runAt || one.id - other.id,
  )
}

/** How a run ended that did not succeed. */
export interface UnsuccessfulEnd {
  readonly state: 'waiting' | 'failed' | 'cancelled'
  /** Milliseconds until the next run. Default 0. */
  readonly delayMs?: number
  readonly error: string
  /** Added to the column `errors`: one line of JSON. */
  readonly errorLine: string
}

/** No process runs the job. */
const noWorker = 'worker = null, lease_until = null, deadline = null'

/** Stores the end of a run that did not succeed. @returns false if this process had lost the job */
export async function storeUnsuccessfulEnd(
  table: JobTable,
  worker: string,
  { id, claims }: RunClaim,
  { state, delayMs = 0, error, errorLine }: UnsuccessfulEnd,
): Promise<boolean> {
  const statement = table.prepare(`end ${state}`, 'update', ({ value, now }) => {
    const keepUntil = (): string => now(`keep * 1000 + ${value('shift')}`)
    const stateColumns: Readonly<Record<UnsuccessfulEnd['state'], () => string>> = {
      waiting: () => `run_at = ${now(value('runAt'))}, later_at = ${now(value('runAt'))}`,
      // The secret body is stored until then, so that the job can be retried.
      failed: () =>
        `later_at = null, ended_at = ${now(value('shift'))}, keep_until = case when secret_body is not null then ${keepUntil()} end`,
      cancelled: () =>
        `later_at = null, ended_at = ${now(value('shift'))}, keep_until = ${keepUntil()}, ${clearSecretBody(now(value('shift')))}`,
    }
    return `update jobs set state = '${state}', ${stateColumns[state]()}, ${noWorker},
  error = ${value('error')}, errors = coalesce(errors, '') || ${value('errorLine')}
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`
  })
  const { shift } = table
  const values = { id, claims, worker, shift, runAt: shift + delayMs, error, errorLine }
  return (await statement.change(values)) === 1
}

/** Returns an unfinished job to the queue as if the run had not started. */
export async function returnToQueue(
  table: JobTable,
  worker: string,
  { id, claims }: RunClaim,
): Promise<boolean> {
  const statement = table.prepare(
    'return to queue',
    'update',
    ({ value }) =>
      `update jobs set state = 'waiting', attempt = attempt - 1, ${noWorker}, started_at = null
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`,
  )
  return (await statement.change({ id, claims, worker })) === 1
}

/** @returns false if this process had lost the job */
export async function storeProgress(
  table: JobTable,
  worker: string,
  { id, claims }: RunClaim,
  { done, text }: { readonly done: number; readonly text: string | null },
): Promise<boolean> {
  const statement = table.prepare(
    'progress',
    'update',
    ({ value }) =>
      `update jobs set progress = ${value('done')}, progress_text = ${value('text')}
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`,
  )
  return (await statement.change({ id, claims, worker, done, text })) === 1
}

/** The statements that the heartbeat thread repeats: renew the leases of this worker and recover expired ones. */
export function leaseStatements(
  table: JobTable,
  worker: string,
): { readonly statement: CustomSql; readonly values: SqlValues }[] {
  const { shift } = table
  return [
    { statement: renewLeases(table), values: { worker, shift, lease: shift + leaseMs } },
    { statement: releaseBlocked(table), values: { shift } },
    { statement: recoverLeases(table), values: recoverValues(table) },
  ]
}

/** Returns jobs with an expired lease to the queue. The lost run counts as an attempt. */
export async function recoverExpired(table: JobTable): Promise<RecoveredJob[]> {
  const { shift } = table
  await shortenLeases(table).change({ shift, lease: shift + leaseMs, maxLease: shift + maxLeaseMs })
  await releaseBlocked(table).rows({ shift })
  return (await recoverLeases(table).rows(recoverValues(table))).map(toRecoveredJob)
}

/** Returns id, claims, and 1 for cancelled jobs. */
function renewLeases(table: JobTable): CustomSql {
  return table.prepare(
    'renew',
    'update',
    ({ value, now }) =>
      `update jobs set lease_until = ${now(value('lease'))}
where state = 'running' and worker = ${value('worker')} and deadline > ${now(value('shift'))}
returning id, claims, case when cancel_at is null then 0 else 1 end`,
  )
}

/**
 * A run that is past its deadline blocks its process, for example by an endless loop. The other jobs of that process are returned to
 * the queue as if their runs had not started, because its heartbeat thread would renew them forever.
 */
function releaseBlocked(table: JobTable): CustomSql {
  return table.prepare('release', 'update', ({ value, now, indexed, lockFree }) => {
    const overdueWorkers = `select worker from jobs where state = 'running' and deadline <`
    return `update jobs set state = 'waiting', attempt = attempt - 1, ${noWorker}, started_at = null
where id in (select id from jobs where state = 'running' and deadline > ${now(value('shift'))}
  and worker in (${overdueWorkers} ${now(value('shift'))}) order by ${indexed('lease_until')}${lockFree})
returning id`
  })
}

/** Shortens leases after the clock of the database was set back. Live processes renew theirs in time. */
function shortenLeases(table: JobTable): CustomSql {
  return table.prepare(
    'shorten',
    'update',
    // Rows locked by another process are skipped: every process runs this, and the owner renews its own lease.
    ({ value, now, indexed, lockFree }) =>
      `update jobs set lease_until = ${now(value('lease'))}
where id in (select id from jobs where state = 'running' and ${indexed('lease_until')} > ${now(value('maxLease'))} order by ${indexed('lease_until')}${lockFree})`,
  )
}

function recoverLeases(table: JobTable): CustomSql {
  return table.prepare('recover', 'update', ({ value, now, indexed, lockFree }) => {
    const leaseUntil = indexed('lease_until')
    const hasNoRetries = 'attempt > retries'
    const keepUntil = (): string => now(`keep * 1000 + ${value('shift')}`)
    return `update jobs set
  state = case when cancel_at is not null then 'cancelled' when ${hasNoRetries} then 'failed' else 'waiting' end,
  ended_at = case when cancel_at is not null or ${hasNoRetries} then ${now(value('shift'))} end,
  keep_until = case when cancel_at is not null or ${hasNoRetries} and secret_body is not null then ${keepUntil()} end,
  emptied_at = case when cancel_at is not null and secret_body is not null then ${now(value('shift'))} end,
  secret_body = case when cancel_at is null then secret_body end,
  ${noWorker}, error = ${value('error')}, errors = coalesce(errors, '') || ${value('line')}
where id in (select id from jobs where state = 'running' and ${leaseUntil} < ${now(value('shift'))} order by ${leaseUntil} limit 100${lockFree})
returning id, name, attempt, state`
  })
}

function recoverValues(table: JobTable): SqlValues {
  const error =
    'The lease ended: its process was killed, paused or blocked, or the run exceeded its time.'
  return { shift: table.shift, error, line: `${JSON.stringify({ message: error })}\n` }
}
