/**
 * Statements about rows that run. A row that runs belongs to the process and to the count of claims that it was taken with:
 * who has lost it changes nothing.
 */
import type { CustomSql, SqlValues } from '../../index.js'
import type { JobTable } from './job-table.js'
import { lease, tooLong, toRecovered, type Claim, type Recovered } from './stored-job.js'

/** How a run ended that did not succeed. */
export interface Ending {
  readonly state: 'waiting' | 'failed' | 'cancelled'
  /** Milliseconds until the next run. */
  readonly pause?: number
  readonly error: string
  /** A line of JSON. */
  readonly line: string
}

/** Nobody runs it. */
const free = 'worker = null, lease_until = null, deadline = null'

/** Stores the end of a run that did not succeed. @returns false if it was this process's no more */
export async function endRun(
  table: JobTable,
  worker: string,
  { id, claims }: Claim,
  { state, pause = 0, error, line }: Ending,
): Promise<boolean> {
  const statement = table.prepare(`end ${state}`, 'update', ({ value, now }) => {
    const keepUntil = (): string => now(`keep * 1000 + ${value('shift')}`)
    const ends: Readonly<Record<Ending['state'], () => string>> = {
      waiting: () => `run_at = ${now(value('pause'))}, later_at = ${now(value('pause'))}`,
      // Its secret body is kept as long, so that it can be run again.
      failed: () =>
        `later_at = null, ended_at = ${now(value('shift'))}, keep_until = case when secret_body is not null then ${keepUntil()} end`,
      cancelled: () =>
        `later_at = null, ended_at = ${now(value('shift'))}, keep_until = ${keepUntil()}, ${emptied(now(value('shift')))}`,
    }
    return `update jobs set state = '${state}', ${ends[state]()}, ${free},
  error = ${value('error')}, errors = coalesce(errors, '') || ${value('line')}
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`
  })
  const { shift } = table
  const values = { id, claims, worker, shift, pause: shift + pause, error, line }
  return (await statement.change(values)) === 1
}

/** What a secret job was given is gone. @param now SQL of a moment */
export function emptied(now: string): string {
  return `emptied_at = case when secret_body is not null then ${now} else emptied_at end, secret_body = null`
}

/** Gives a run back that was not finished, as if it had not been begun. */
export async function giveBack(
  table: JobTable,
  worker: string,
  { id, claims }: Claim,
): Promise<boolean> {
  const statement = table.prepare(
    'give back',
    'update',
    ({ value }) =>
      `update jobs set state = 'waiting', attempt = attempt - 1, ${free}, started_at = null
where id = ${value('id')} and claims = ${value('claims')} and worker = ${value('worker')} and state = 'running'`,
  )
  return (await statement.change({ id, claims, worker })) === 1
}

/** @returns false if it was this process's no more */
export async function tellProgress(
  table: JobTable,
  worker: string,
  { id, claims }: Claim,
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

/** What the thread repeats: renews the leases of this process, and takes rows back whose lease has ended. */
export function heartbeats(
  table: JobTable,
  worker: string,
): { readonly statement: CustomSql; readonly values: SqlValues }[] {
  const { shift } = table
  return [
    { statement: renewal(table), values: { worker, shift, lease: shift + lease } },
    { statement: release(table), values: { shift } },
    { statement: recovery(table), values: recoveryValues(table) },
  ]
}

/** Takes rows back whose lease has ended. A lost run counts. */
export async function recover(table: JobTable): Promise<Recovered[]> {
  const { shift } = table
  await shorten(table).change({ shift, lease: shift + lease, tooLong: shift + tooLong })
  await release(table).rows({ shift })
  return (await recovery(table).rows(recoveryValues(table))).map(toRecovered)
}

/** Answers the rows of this process: id, claims, and 1 for those that are to stop. */
function renewal(table: JobTable): CustomSql {
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
 * A run whose time is over and that still stands there is an endless loop: what else that process holds cannot go on there,
 * however long its thread renews it. It is given back, as if it had not been begun.
 */
function release(table: JobTable): CustomSql {
  return table.prepare('release', 'update', ({ value, now, lockFree }) => {
    const late = `select worker from jobs where state = 'running' and deadline <`
    return `update jobs set state = 'waiting', attempt = attempt - 1, ${free}, started_at = null
where id in (select id from jobs where state = 'running' and deadline > ${now(value('shift'))}
  and worker in (${late} ${now(value('shift'))}) order by id${lockFree})
returning id`
  })
}

/** The database's clock was set back: whoever is there renews its lease, whoever is gone has had a lease. */
function shorten(table: JobTable): CustomSql {
  return table.prepare(
    'shorten',
    'update',
    // Rows that another process is writing are skipped: every process does this, and the owner renews its own lease.
    ({ value, now, lockFree }) =>
      `update jobs set lease_until = ${now(value('lease'))}
where id in (select id from jobs where state = 'running' and lease_until > ${now(value('tooLong'))} order by id${lockFree})`,
  )
}

function recovery(table: JobTable): CustomSql {
  return table.prepare('recover', 'update', ({ value, now, lockFree }) => {
    const isOver = 'attempt > retries'
    const keepUntil = (): string => now(`keep * 1000 + ${value('shift')}`)
    return `update jobs set
  state = case when cancel_at is not null then 'cancelled' when ${isOver} then 'failed' else 'waiting' end,
  ended_at = case when cancel_at is not null or ${isOver} then ${now(value('shift'))} end,
  keep_until = case when cancel_at is not null or ${isOver} and secret_body is not null then ${keepUntil()} end,
  emptied_at = case when cancel_at is not null and secret_body is not null then ${now(value('shift'))} end,
  secret_body = case when cancel_at is null then secret_body end,
  ${free}, error = ${value('error')}, errors = coalesce(errors, '') || ${value('line')}
where id in (select id from jobs where state = 'running' and lease_until < ${now(value('shift'))} order by lease_until limit 100${lockFree})
returning id, name, attempt, state`
  })
}

function recoveryValues(table: JobTable): SqlValues {
  const error =
    'The lease ended: its process was killed, paused or blocked, or the run exceeded its time.'
  return { shift: table.shift, error, line: `${JSON.stringify({ message: error })}\n` }
}
