/** A plan in words: what is needed, what is full first, and how long requests wait. */
import { firstLimits, planFor, type Plan } from './capacity.js'
import type { Figures } from './read-figures.js'
import { simulate, type Latency } from './waiting.js'

export function describePlan(figures: Figures): string {
  const plan = planFor(figures, figures, figures)
  return [
    `${count(figures.requests)} requests a second, ${percent(figures.reads)} of them reads; ${count(figures.rows)} rows.`,
    '',
    'One process and one database server are full, in this order, at',
    ...firstLimits(figures, figures, figures).map(
      ({ what, servers }) => `  ${count(servers).padStart(12)} requests a second: ${what}`,
    ),
    '',
    `Of the whole load, cores at most ${percent(figures.busy)} busy, it takes`,
    `  application   ${plan.processes} processes on ${plan.machines} machines`,
    `  database      ${plan.shards} ${plan.shards === 1 ? 'primary' : 'shards'}, ${plan.replicas} replicas each`,
    `  connections   ${plan.connections} to each primary${plan.needsPooler ? ': more than it may have, a pooler stands between' : ''}`,
    `  rows          ${bytes(plan.data)}, of which ${bytes(plan.hotData)} should be in memory`,
    `  log           ${bytes(plan.wal)} a second, of all shards`,
    '',
    'What makes the number of shards:',
    ...plan.limits.map(({ what, servers }) => `  ${servers.toFixed(2).padStart(8)}  ${what}`),
    '',
    'How long requests take with that, without the network between:',
    ...latencies(figures, plan).map(
      ([what, { p50, p99, overloaded }]) =>
        `  ${what}  ${overloaded ? 'without end: more comes than is done' : `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`}`,
    ),
  ].join('\n')
}

function latencies(figures: Figures, plan: Plan): [string, Latency][] {
  const reads = figures.requests * figures.reads
  const writes = figures.requests - reads
  const process = {
    arrivals: figures.requests / plan.processes,
    service: mean(figures, figures.appRead, figures.appWrite) / 1000,
    servers: 1,
  }
  const servers = figures.dbCores
  // Without replicas the primaries answer all.
  const isOne = plan.replicas === 0
  const all = {
    arrivals: figures.requests / plan.shards,
    service: mean(figures, figures.dbRead, figures.dbWrite) / 1000,
    servers,
  }
  const reading = {
    arrivals: reads / plan.shards / plan.replicas,
    service: figures.dbRead / 1000,
    servers,
  }
  const writing = { arrivals: writes / plan.shards, service: figures.dbWrite / 1000, servers }
  const found: [string, Latency][] = []
  if (reads > 0) found.push(['reads ', simulate([process, isOne ? all : reading])])
  if (writes > 0) found.push(['writes', simulate([process, isOne ? all : writing], 50_000, 2)])
  return found
}

function mean({ reads }: Figures, read: number, write: number): number {
  return reads * read + (1 - reads) * write
}

function count(value: number): string {
  return Math.floor(value).toLocaleString('en-US')
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
  let [left, unit] = [value, 0]
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000
    unit++
  }
  return `${left < 10 ? left.toFixed(1) : Math.round(left)} ${units[unit] ?? ''}`
}
