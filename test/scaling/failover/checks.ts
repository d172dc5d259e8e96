/** Compares what the clients know with what the database has after the failovers. */
import { setTimeout as pause } from 'node:timers/promises'
import type { BoardRow, LiveWatch } from './live-watch.js'
import type { Clients } from './clients.js'
import type { Cluster } from './cluster.js'
import { query } from './probe.js'
import type { Round } from './report.js'

/** The limits in milliseconds. */
const limits = { service: 1000, listeners: 1000, fresh: 2000, key: 10_000 }
/** Milliseconds until all jobs have run, and until live lists have the last change. */
const [maxJobWait, maxLiveWait] = [90_000, 5_000]
/** Milliseconds around an outage in which a run may be repeated: the lease of a job, and its backoff. */
const repeatTime = 30_000

export interface Outcome {
  readonly purchases: number
  readonly lost: number
  readonly half: number
  readonly keys: number
  readonly retriedKeys: number
  /** Keys with more than one row, or without a row. */
  readonly wrongKeys: number
  /** Milliseconds after the new primary's response until the last open key was settled, for each failover. */
  readonly longestKeys: readonly number[]
  readonly jobs: number
  readonly jobsLost: number
  readonly jobsAgain: number
  readonly reads: number
  /** Reads during outages: all, and the answered ones, for each process. */
  readonly outageReads: readonly { readonly all: number; readonly answered: number }[]
  readonly statuses: Readonly<Record<string, number>>
  readonly warnings: Readonly<Record<string, number>>
  readonly findings: readonly string[]
}

interface Run {
  readonly cluster: Cluster
  readonly clients: Clients
  readonly watches: readonly LiveWatch[]
  readonly rounds: readonly Round[]
  /** The logs of the processes. */
  readonly logs: readonly string[]
}

export async function findFindings(run: Run): Promise<Outcome> {
  const { cluster, clients, watches, rounds, logs } = run
  const findings: string[] = []
  const check = (count: number, what: string): void => {
    if (count > 0) findings.push(`${count} ${what}`)
  }
  const purchases = await namesOf(cluster.url, 'select name from purchase')
  const receipts = new Set(await namesOf(cluster.url, 'select name from receipt'))
  const stored = new Set(purchases)
  const lost = [...clients.purchases.keys()].filter(
    (name) => !stored.has(name) || !receipts.has(name),
  ).length
  const half = [...stored].filter((name) => !receipts.has(name)).length
  check(lost, 'acknowledged purchases are lost')
  check(purchases.length - stored.size, 'purchases were written twice')
  check(half + receipts.size - stored.size, 'purchases were written by half')
  const payments = countOf(await namesOf(cluster.url, 'select reference as name from payment'))
  const wrongKeys = [...clients.keys.keys()].filter((key) => payments.get(key) !== 1).length
  check(wrongKeys, 'keys have no row, or more than one')
  check(payments.size - clients.keys.size, 'payments belong to no key')
  const longestKeys = rounds.map(({ upAt }) => longestKey(clients, upAt))
  check(longestKeys.filter((time) => time > limits.key).length, 'failovers locked a key over 10 s')
  const { jobsLost, jobsAgain, unexplained } = await checkJobs(run)
  check(jobsLost, 'jobs did not run')
  check(unexplained, 'jobs ran again without an outage')
  check(await countUntrue(watches, cluster.url), 'live lists differ from the database')
  check(sum(watches.map(({ ended }) => ended)), 'live queries were ended')
  check(clients.notFound.length, `reads did not find a row: ${clients.notFound.slice(0, 3).join()}`)
  check(clients.unclean.length, `unclean responses: ${clients.unclean.slice(0, 3).join('; ')}`)
  for (const { kind, service, listeners, fresh } of rounds) {
    if (Math.max(...service) > limits.service) findings.push(`${kind}: service was back too late`)
    if (listeners > limits.listeners) findings.push(`${kind}: a listener was back too late`)
    if (Math.max(...fresh) > limits.fresh) findings.push(`${kind}: a live query was not fresh`)
  }
  return {
    ...{ purchases: clients.purchases.size, lost, half, keys: clients.keys.size, wrongKeys },
    retriedKeys: [...clients.keys.values()].filter(({ attempts }) => attempts > 1).length,
    ...{ longestKeys, jobs: clients.tasks.size, jobsLost, jobsAgain },
    reads: clients.reads.length,
    outageReads: clients.acknowledged.map((_, index) => outageReads(clients, rounds, index)),
    ...{ statuses: clients.statuses, warnings: warningsOf(logs), findings },
  }
}

/** Milliseconds after the new primary's response until the last key of an earlier request was settled. */
function longestKey(clients: Clients, upAt: number): number {
  const open = [...clients.keys.values()].filter(
    ({ startedAt, settledAt }) => startedAt < upAt && settledAt > upAt,
  )
  return Math.max(0, ...open.map(({ settledAt }) => settledAt - upAt))
}

async function checkJobs({ cluster, clients, rounds }: Run): Promise<{
  readonly jobsLost: number
  readonly jobsAgain: number
  /** Jobs that ran again although no failover was near. */
  readonly unexplained: number
}> {
  const end = performance.now() + maxJobWait
  let runs = new Map<string, number>()
  const missing = (): number => [...clients.tasks.keys()].filter((task) => !runs.has(task)).length
  do {
    runs = countOf(await namesOf(cluster.url, 'select task as name from run'))
    if (missing() > 0) await pause(500)
  } while (missing() > 0 && performance.now() < end)
  const again = [...runs].filter(([, count]) => count > 1).map(([task]) => task)
  const isNearOutage = (at: number): boolean =>
    rounds.some(({ startedAt, upAt }) => at > startedAt - repeatTime && at < upAt + repeatTime)
  const unexplained = again.filter((task) => {
    const addedAt = clients.tasks.get(task)
    return addedAt !== undefined && !isNearOutage(addedAt)
  })
  return { jobsLost: missing(), jobsAgain: again.length, unexplained: unexplained.length }
}

/** The number of live lists that never become what the database has. */
async function countUntrue(watches: readonly LiveWatch[], url: string): Promise<number> {
  const truths: string[] = []
  for (const record of ['panel', 'board']) {
    const rows = await query(url, `select id::int, count::int from ${record} order by id`)
    truths.push(JSON.stringify(rows.map(({ id, count }) => [id, count])))
  }
  const end = performance.now() + maxLiveWait
  const untrue = (): number =>
    watches.filter(({ rows }, index) => textOf(rows) !== truths[index]).length
  while (untrue() > 0 && performance.now() < end) await pause(50)
  return untrue()
}

function textOf(rows: readonly BoardRow[]): string {
  const sorted = [...rows].sort((one, other) => one.id - other.id)
  return JSON.stringify(sorted.map(({ id, count }) => [id, count]))
}

function outageReads(
  clients: Clients,
  rounds: readonly Round[],
  index: number,
): { readonly all: number; readonly answered: number } {
  const during = clients.reads.filter(
    ({ process, at }) =>
      process === index && rounds.some(({ startedAt, upAt }) => at > startedAt && at < upAt),
  )
  return { all: during.length, answered: during.filter(({ status }) => status === 200).length }
}

async function namesOf(url: string, sql: string): Promise<readonly string[]> {
  return (await query(url, sql)).map(({ name }) => String(name))
}

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** How often each warning and error was logged. */
function warningsOf(logs: readonly string[]): Readonly<Record<string, number>> {
  const messages = logs.flatMap((text, index) =>
    text.split('\n').flatMap((line) => {
      const message = /^\{/.test(line) ? messageOf(line) : undefined
      return message === undefined ? [] : [`process ${index + 1}: ${message}`]
    }),
  )
  return Object.fromEntries(countOf(messages))
}

/** pino's levels from 40 on are warnings and errors. */
function messageOf(line: string): string | undefined {
  try {
    const { level, msg } = JSON.parse(line) as { readonly level: unknown; readonly msg: string }
    return Number(level) >= 40 || level === 'warn' || level === 'error' ? msg : undefined
  } catch {
    return undefined
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
