/** Statements for people and for order: figures, cancelling, running again, removing. */
import type { JobState } from './job-entry.js'
import type { JobTable } from './job-table.js'
import { emptied } from './end-rows.js'

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
