/** Statements that find and take what is due. Each name is looked for by the index, so that names without room cost nothing. */
import type { SqlFragments } from '../../index.js'
import type { JobTable } from './job-table.js'
import {
  grace,
  lease,
  takenColumns,
  tooLong,
  toTaken,
  type Claim,
  type Room,
  type Taken,
} from './stored-job.js'

/** What a look at the table shows. */
export interface Look {
  /** A job waits that could be taken. */
  readonly isReady: boolean
  /** A lease has ended, or goes on for longer than any does. */
  readonly hasLost: boolean
  /** Milliseconds until the next job that waits for its time; 0 if it is there, undefined if there is none. */
  readonly nextIn: number | undefined
}

/** What became of a round. */
export interface Turned {
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
