/** Gauges that are read when metrics are scraped: of the process, of the connections to the database, and of other packages. */
import { channel } from 'node:diagnostics_channel'
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'
import type { PoolState, ApplicationState, Gauge, ScrapeEvent } from '../../index.js'
import {
  type Family,
  type GaugeFamily,
  type Aggregation,
  toLabelText,
  type Labels,
  gauge,
  counter,
} from './metric-families.js'

type Counts = Omit<PoolState, 'replicas'>

/** The gauges of the pool, and of each replica with a label. The primary has no label. */
export function poolFamilies({ replicas = [], ...primary }: PoolState): Family[] {
  const names = new Set<string>()
  const servers: { readonly labels: Labels; readonly counts: Counts; readonly isUp: boolean }[] = []
  for (const { name, isUp, ...counts } of replicas) {
    // Two databases on one server have the same name.
    const replica = names.has(name) ? `${name}#${servers.length + 1}` : name
    names.add(replica)
    servers.push({ labels: { replica }, counts, isUp })
  }
  const all = [{ labels: {}, counts: primary }, ...servers]
  const samplesOf = (measure: (counts: Counts) => number): Sample[] =>
    all.map(({ labels, counts }) => [labels, measure(counts)])
  const families = [
    gauges(
      'database_connections',
      'Connections of the pool.',
      all.flatMap(({ labels, counts: { open, idle } }): Sample[] => [
        [{ ...labels, state: 'used' }, open - idle],
        [{ ...labels, state: 'idle' }, idle],
      ]),
    ),
    gauges(
      'database_connections_max',
      'Largest number of connections.',
      samplesOf((counts) => counts.maxConnections),
    ),
    gauges(
      'database_connections_waiting',
      'Callers waiting for a connection.',
      samplesOf(({ waiting }) => waiting),
    ),
  ]
  if (servers.length === 0) return families
  const up = servers.map(({ labels, isUp }): Sample => [labels, isUp ? 1 : 0])
  return [...families, gauges('database_replica_up', 'Whether the replica answers.', up, 'min')]
}

type Sample = readonly [Labels, number]

function gauges(
  name: string,
  help: string,
  samples: readonly Sample[],
  aggregation: Aggregation = 'sum',
): GaugeFamily {
  const labelledSamples = samples.map(([labels, value]) => [toLabelText(labels), value] as const)
  return { name, type: 'gauge', help, samples: labelledSamples, aggregation }
}

const scrapeChannel = channel('filigree:scrape')
/** Milliseconds that packages have to return their gauges. */
const scrapeTimeoutMs = 1000

/** Gauges of other packages about the whole database, so workers do not sum them. */
export async function readOtherGauges(application: ApplicationState): Promise<Family[]> {
  if (!scrapeChannel.hasSubscribers) return []
  const pending: (Gauge | Promise<readonly Gauge[]>)[] = []
  const event: ScrapeEvent = { application, add: (one) => pending.push(one) }
  scrapeChannel.publish(event)
  const gauges = (await Promise.all(pending.map(withinTimeout))).flat()
  return gauges.map(({ name, help, value }) => gauge(name, help, value))
}

/** Returns no gauges if the package fails or takes too long. */
async function withinTimeout(
  pending: Gauge | Promise<readonly Gauge[]>,
): Promise<readonly Gauge[]> {
  if (!(pending instanceof Promise)) return [pending]
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<readonly Gauge[]>((resolve) => {
    timer = setTimeout(resolve, scrapeTimeoutMs, [])
  })
  const gauges = await Promise.race([pending.catch(() => []), timeout])
  clearTimeout(timer)
  return gauges
}

/** Milliseconds between two measurements of the event loop. */
const resolution = 20

export class ProcessMetrics {
  #delay: IntervalHistogram | undefined

  start(): void {
    this.#delay = monitorEventLoopDelay({ resolution })
    this.#delay.enable()
  }

  stop(): void {
    this.#delay?.disable()
  }

  /** Delays since the previous read. */
  read(): Family[] {
    const delay = this.#delay
    const delayGauge = (share: string, percentile: number): Family => {
      const value = delay === undefined ? 0 : delaySeconds(delay, percentile)
      const help = 'The delay of the event loop since the last scrape.'
      return gauge(`nodejs_eventloop_delay_${share}_seconds`, help, value, 'max')
    }
    const delays = [delayGauge('p50', 50), delayGauge('p99', 99), delayGauge('max', 100)]
    delay?.reset()
    return [...delays, ...memory(), processorTime(), startTime()]
  }
}

/** Processor time of the process, in seconds, user and system. */
export function processorTime(): Family {
  const { user, system } = process.cpuUsage()
  return counter('process_cpu_seconds', 'Processor time.', (user + system) / 1e6)
}

function memory(): Family[] {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  return [
    gauge('process_resident_memory_bytes', 'Memory of the process.', rss),
    gauge('nodejs_heap_used_bytes', 'Heap memory in use.', heapUsed),
    gauge('nodejs_heap_total_bytes', 'Heap memory reserved.', heapTotal),
    gauge('nodejs_external_memory_bytes', 'Memory of buffers and native objects.', external),
  ]
}

function startTime(): Family {
  const started = Math.round(performance.timeOrigin) / 1000
  const help = 'Start time of the process, in seconds since 1970.'
  return gauge('process_start_time_seconds', help, started, 'min')
}

/** The histogram records the time between measurements; the excess over the resolution is delay. Empty: no delay. */
function delaySeconds(delay: IntervalHistogram, percentile: number): number {
  if (delay.count === 0) return 0
  return Math.max(0, Math.round(delay.percentile(percentile) / 1000 - resolution * 1000) / 1e6)
}
