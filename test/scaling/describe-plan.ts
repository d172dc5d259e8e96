/** Describes a plan as text: required machines, limits and latencies. */
import { firstLimits, hasCoordinator, planFor, type Plan } from './capacity.js'
import type { Settings } from './settings.js'
import { simulate, type Latency } from './queue-simulation.js'

export function describePlan(settings: Settings): string {
  const plan = planFor(settings, settings, settings)
  return [
    `${count(settings.requests)} requests a second, ${percent(settings.reads)} reads, ${count(settings.rows)} rows.`,
    '',
    'One process and one database server saturate, in this order, at',
    ...firstLimits(settings, settings, settings).map(
      ({ resource, servers }) => `  ${count(servers).padStart(12)} requests a second: ${resource}`,
    ),
    '',
    `With cores at most ${percent(settings.busy)} busy, the load requires`,
    `  application   ${plan.processes} processes on ${plan.machines} machines`,
    ...describeDatabase(settings, plan),
    `  connections   ${plan.connections} to ${hasCoordinator(settings) ? 'the coordinator' : 'each primary'}${plan.needsPooler ? ', which exceeds its limit: use a pooler' : ''}`,
    `  rows          ${bytes(plan.data)}, of which ${bytes(plan.hotData)} should be in memory`,
    `  log           ${bytes(plan.wal)} a second for all shards`,
    '',
    'Limits that determine the number of shards:',
    ...plan.limits.map(
      ({ resource, servers }) => `  ${servers.toFixed(2).padStart(8)}  ${resource}`,
    ),
    '',
    'Latency of requests, without the network:',
    ...latencies(settings, plan).map(
      ([kind, { p50, p99, overloaded }]) =>
        `  ${kind}  ${overloaded ? 'overloaded: more requests arrive than finish' : `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`}`,
    ),
  ].join('\n')
}

function describeDatabase(settings: Settings, plan: Plan): string[] {
  const { shards, replicas, coordinatorCores, workerCores } = plan
  if (!hasCoordinator(settings))
    return [
      `  database      ${shards} ${shards === 1 ? 'primary' : 'shards'}, ${replicas} replicas each`,
    ]
  return [
    `  coordinator   ${Math.ceil(coordinatorCores)} cores on ${coordinatorsOf(settings, plan)} servers`,
    `  database      ${Math.ceil(workerCores)} cores on ${shards} workers`,
  ]
}

/** Beyond one, the workers route statements too. */
function coordinatorsOf({ dbCores }: Settings, { coordinatorCores }: Plan): number {
  return Math.max(1, Math.ceil(coordinatorCores / dbCores))
}

function latencies(settings: Settings, plan: Plan): [string, Latency][] {
  const reads = settings.requests * settings.reads
  const writes = settings.requests - reads
  const process = {
    arrivals: settings.requests / plan.processes,
    service: mean(settings, settings.appRead, settings.appWrite) / 1000,
    servers: 1,
  }
  const servers = settings.dbCores
  // Without replicas, the primaries serve all requests.
  const isOne = plan.replicas === 0
  const all = {
    arrivals: settings.requests / plan.shards,
    service: mean(settings, settings.dbRead, settings.dbWrite) / 1000,
    servers,
  }
  const reading = {
    arrivals: reads / plan.shards / plan.replicas,
    service: settings.dbRead / 1000,
    servers,
  }
  const writing = { arrivals: writes / plan.shards, service: settings.dbWrite / 1000, servers }
  const coordinator = {
    arrivals: settings.requests / coordinatorsOf(settings, plan),
    service: mean(settings, settings.routeRead, settings.routeWrite) / 1000,
    servers,
  }
  const before = hasCoordinator(settings) ? [process, coordinator] : [process]
  const found: [string, Latency][] = []
  if (reads > 0) found.push(['reads ', simulate([...before, isOne ? all : reading])])
  if (writes > 0) found.push(['writes', simulate([...before, isOne ? all : writing], 50_000, 2)])
  return found
}

function mean({ reads }: Settings, read: number, write: number): number {
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
  let [size, unit] = [value, 0]
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000
    unit++
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit] ?? ''}`
}
