/**
 * Statements about rows that run. A row that runs belongs to the process and to the count of claims that it was taken with:
 * who has lost it changes nothing.
 */

import type { SqlFragments, CustomSql, SqlValues } from '../../index.js'
import {
  type JobTable,
  grace,
  lease,
  takenColumns,
  tooLong,
  toTaken,
  type Claim,
  type Room,
  type Taken,
  emptied,
  toRecovered,
  type Recovered,
} from './job-table.js'

/** Statements that find and take what is due. Each name is looked for by the index, so that names without room cost nothing. */

/** What a look at the table shows. */
interface Look {
  /** A job waits that could be taken. */
  readonly isReady: boolean
  /** A lease has ended, or goes on for longer than any does. */
  readonly hasLost: boolean
  /** Milliseconds until the next job that waits for its time; 0 if it is there, undefined if there is none. */
  readonly nextIn: number | undefined
}

/** What became of a round. */
interface Turned {
  /** The ids of those that were still this process's, and are done. */
  readonly done: ReadonlySet<number>
  /** Those of higher priority first, then by time. */
  readonly taken: readonly Taken[]
}

/** @param names that could be taken */
export async function look(table: JobTable, names: readonly string[]): Promise<Look> {
  const statement = table.prepare(`look ${names.length}`, 'select', ({ value, now, millis }) => {
    const known = names.map((_, index) => value(`name${index}`)).join(', ')
    const ready = `select 1 from jobs where name in (${known}) and state = 'waiting' and later_at is null limit 1`
    return `select (${ready}),
  (select 1 from jobs where state = 'running' and (lease_until < ${now(value('shift'))} or lease_until > ${now(value('tooLong'))})
    order by lease_until limit 1),
  ${millis('(select min(later_at) from jobs where later_at is not null)')} - ${millis(now(value('shift')))}`
  })
  const { shift } = table
  const [row = []] = await statement.rows({ ...named(names), shift, tooLong: shift + tooLong })
  const [isReady, hasLost, nextIn] = row
  return {
    isReady: isReady !== null && isReady !== undefined,
    hasLost: hasLost !== null && hasLost !== undefined,
    nextIn: toWait(nextIn),
  }
}

/** The names of which a job is due: whose first one is first comes first. */
export async function heads(table: JobTable, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const statement = table.prepare(`heads ${names.length}`, 'select', ({ value }) => {
    const each = names.map(
      (_, index) => `select * from (select name, priority, run_at, id from jobs
  where name = ${value(`name${index}`)} and state = 'waiting' and later_at is null
  order by priority desc, run_at, id limit 1) as head${index}`,
    )
    return `select name from (${each.join(' union all ')}) as heads order by priority desc, run_at, id`
  })
  return (await statement.rows(named(names))).map(([name]) => String(name))
}

function named(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [`name${index}`, name]))
}

/** How many `promote` takes at once. */
export const promoted = 1000

/** Lets those wait no longer whose time has come. @returns how many */
export function promote(table: JobTable): Promise<number> {
  const { shift } = table
  return table
    .prepare(
      'promote',
      'update',
      ({ value, now, lockFree }) =>
        `update jobs set later_at = null where id in (select id from jobs where later_at <= ${now(value('shift'))} order by later_at limit ${promoted}${lockFree})`,
    )
    .change({ shift })
}

/** @returns milliseconds until the next job that waits for its time; undefined if none does */
export async function nextTime(table: JobTable): Promise<number | undefined> {
  const statement = table.prepare(
    'next time',
    'select',
    ({ value, now, millis }) =>
      `select ${millis('(select min(later_at) from jobs where later_at is not null)')} - ${millis(now(value('shift')))}`,
  )
  const [row = []] = await statement.rows({ shift: table.shift })
  return toWait(row[0])
}

function toWait(ms: unknown): number | undefined {
  return ms === null || ms === undefined ? undefined : Math.max(0, Number(ms))
}

/**
 * Stores that runs are done, and takes due rows of these names, by one statement.
 *
 * @param rooms of at least one name
 * @param most how many are taken of all of them
 */
export async function turn(
  table: JobTable,
  worker: string,
  ended: readonly Claim[],
  rooms: readonly Room[],
  most: number,
): Promise<Turned> {
  const statement = table.prepare(`turn ${rooms.length}`, 'update', (words) =>
    writeTurn(words, rooms.length),
  )
  const { shift } = table
  const values: Record<string, string | number> = {
    ...{ most, worker, shift, lease: shift + lease, grace: shift + grace + 1000 },
    ended: `[${ended.map(({ id, claims }) => `[${id},${claims}]`).join(',')}]`,
  }
  for (const [index, { name, most: ofName, timeout }] of rooms.entries()) {
    values[`name${index}`] = name
    values[`most${index}`] = Math.min(most, ofName)
    values[`timeout${index}`] = timeout
  }
  const done = new Set<number>()
  const taken: Taken[] = []
  for (const row of await statement.rows(values)) {
    const [state, ...columns] = row
    if (state === 'done') done.add(Number(columns[0]))
    else taken.push(toTaken(columns))
  }
  return { done, taken: inOrder(taken) }
}

function writeTurn({ value, now, millis, items, lockFree }: SqlFragments, count: number): string {
  // Of a bare placeholder SQLite would plan by its value, anew at each run.
  const limit = (name: string): string => `limit cast(${value(name)} as bigint)`
  const heads = Array.from(
    { length: count },
    (_, index) => `select * from (
    select id, priority, run_at, cast(${value(`timeout${index}`)} as double precision) as lasts
    from jobs where name = ${value(`name${index}`)} and state = 'waiting' and later_at is null
    order by priority desc, run_at, id ${limit(`most${index}`)}${lockFree}) as head${index}`,
  )
  return `with picked as materialized (
  select id, lasts from (${heads.join(' union all\n  ')}) as heads
  order by priority desc, run_at, id ${limit('most')}),
acts as materialized (
  select id, 0 as claims, lasts, 1 as runs from picked union all
  select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), 0, 0 from (${items('ended')}) as ended)
update jobs set
  state = case when runs = 1 then 'running' else 'done' end,
  attempt = attempt + runs,
  claims = jobs.claims + runs,
  worker = case when runs = 1 then ${value('worker')} end,
  lease_until = case when runs = 1 then ${now(value('lease'))} end,
  deadline = case when runs = 1 then ${now(`lasts + ${value('grace')}`)} end,
  started_at = case when runs = 1 then ${now(value('shift'))} else started_at end,
  cancel_at = case when runs = 1 then null else cancel_at end,
  ended_at = case when runs = 1 then ended_at else ${now(value('shift'))} end,
  keep_until = case when runs = 1 then keep_until else ${now(`keep * 1000 + ${value('shift')}`)} end,
  emptied_at = case when runs = 0 and secret_body is not null then ${now(value('shift'))} else emptied_at end,
  secret_body = case when runs = 1 then secret_body end
from acts where jobs.id = acts.id and (runs = 1 and jobs.state = 'waiting'
  or runs = 0 and jobs.state = 'running' and jobs.claims = acts.claims and jobs.worker = ${value('worker')})
returning state, ${takenColumns(millis, now(value('shift')))}`
}

/** Rows are answered in no order. */
function inOrder(taken: Taken[]): Taken[] {
  return taken.sort(
    (one, other) => other.priority - one.priority || one.runAt - other.runAt || one.id - other.id,
  )
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
