/** Counts the framework's events for one application. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'
import {
  ApplicationState,
  type GraphqlEvent,
  type HttpRequest,
  type RequestEvent,
  type RouteInfo,
  type StatementEvent,
} from '../../index.js'
import { writePools } from './database-pools.js'
import { Counters, Histogram, writeSample, type Series } from './series.js'

/** The most GraphQL operations with their own series, because clients choose the names. */
const mostOperations = 250
const other = '_other'
/** The label of requests without a route. */
const unmatched = 'unmatched'
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Milliseconds between two measurements of the event loop. */
const resolution = 20
/** In seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export class Meter {
  static inject = [ApplicationState]
  readonly #requests = new Histogram('http_request_duration_seconds', buckets)
  readonly #statements = new Counters()
  readonly #statementSeconds = new Counters()
  readonly #statementErrors = new Counters()
  readonly #operations = new Counters()
  readonly #operationSeconds = new Counters()
  readonly #operationNames = new Set<string>()
  readonly #seen = new Map<RouteInfo | string, Map<string, Series[]>>()
  #inFlight = 0
  #received = 0
  #sent = 0
  #throttled = 0
  #delay: IntervalHistogram | undefined
  #tables: ReadonlySet<string> = new Set()
  readonly #listeners: readonly (readonly [string, (message: unknown) => void])[]

  constructor(private readonly state: ApplicationState) {
    this.#listeners = [
      [
        'tracing:filigree:request:start',
        (event) => {
          this.#begin(event as RequestEvent)
        },
      ],
      [
        'filigree:request',
        (event) => {
          this.#countRequest(event as RequestEvent)
        },
      ],
      [
        'filigree:statement',
        (event) => {
          this.#countStatement(event as StatementEvent)
        },
      ],
      [
        'filigree:graphql',
        (event) => {
          this.#countOperation(event as GraphqlEvent)
        },
      ],
    ]
  }

  onStart(): void {
    this.#delay = monitorEventLoopDelay({ resolution })
    this.#delay.enable()
    for (const [channel, listener] of this.#listeners) subscribe(channel, listener)
  }

  onStop(): void {
    for (const [channel, listener] of this.#listeners) unsubscribe(channel, listener)
    this.#delay?.disable()
  }

  /** All metrics, in the text format of Prometheus. */
  write(): string {
    const lines: string[] = []
    this.#writeHttp(lines)
    this.#writeProcess(lines)
    this.#writeDatabase(lines)
    this.#writeGraphql(lines)
    return `${lines.join('\n')}\n`
  }

  #begin({ application }: RequestEvent): void {
    if (application === this.state) this.#inFlight++
  }

  #countRequest(event: RequestEvent): void {
    const { request, application, status, ms, bytes, received } = event
    if (application !== this.state) return
    this.#inFlight--
    this.#seriesOf(request, status).observe(ms / 1000)
    this.#sent += bytes
    this.#received += received
    if (status === 429) this.#throttled++
  }

  /** Labels are written once for each route, method and status. */
  #seriesOf({ method, route }: HttpRequest, status: number): Series {
    const key = route ?? unmatched
    let byStatus = this.#seen.get(key)
    if (byStatus === undefined) this.#seen.set(key, (byStatus = new Map<string, Series[]>()))
    let series = byStatus.get(method)
    if (series === undefined) {
      series = []
      // Clients may send any method; unknown ones share a series.
      if (methods.has(method)) byStatus.set(method, series)
    }
    return (series[status] ??= this.#requests.series({
      method: methods.has(method) ? method : other,
      route: route?.path ?? unmatched,
      status: String(status),
    }))
  }

  #countStatement({ database, kind, table, ms, error }: StatementEvent): void {
    if (!this.state.owns(database)) return
    const labels = { table: this.#tableLabel(table), kind: statementKind(kind) }
    this.#statements.add(labels, 1)
    this.#statementSeconds.add(labels, ms / 1000)
    if (error !== undefined) this.#statementErrors.add(labels, 1)
  }

  /** Tables of records have their own label; all other tables share one. */
  #tableLabel(table: string | undefined): string {
    if (table === undefined) return ''
    if (this.#tables.has(table)) return table
    const known = new Set([...(this.state.database?.tables ?? [])].map(({ name }) => name))
    this.#tables = known
    return known.has(table) ? table : other
  }

  #countOperation({ graphql, type, name = '', failed, error, ms }: GraphqlEvent): void {
    if (!this.state.owns(graphql)) return
    if (this.#operationNames.size < mostOperations) this.#operationNames.add(name)
    const label = this.#operationNames.has(name) ? name : other
    const outcome = failed || error !== undefined ? 'error' : 'ok'
    this.#operations.add({ name: label, type, outcome }, 1)
    this.#operationSeconds.add({ name: label, type }, ms / 1000)
  }

  #writeHttp(lines: string[]): void {
    this.#requests.write(
      lines,
      'Seconds from the head of a request to the last byte of its answer.',
    )
    writeSample(lines, 'http_requests_in_flight', 'gauge', 'Requests in progress.', this.#inFlight)
    writeSample(
      lines,
      'http_request_bytes_total',
      'counter',
      'Bytes of request bodies received.',
      this.#received,
    )
    writeSample(
      lines,
      'http_response_bytes_total',
      'counter',
      'Bytes of response bodies sent.',
      this.#sent,
    )
    writeSample(
      lines,
      'http_requests_throttled_total',
      'counter',
      'Requests answered with 429.',
      this.#throttled,
    )
  }

  #writeProcess(lines: string[]): void {
    const delay = this.#delay
    const name = 'nodejs_eventloop_delay_seconds'
    lines.push(
      `# HELP ${name} The delay of the event loop since the last scrape.`,
      `# TYPE ${name} gauge`,
    )
    for (const [label, percentile] of [
      ['0.5', 50],
      ['0.99', 99],
      ['1', 100],
    ] as const) {
      const value = delay === undefined ? 0 : secondsLate(delay, percentile)
      lines.push(`${name}{quantile="${label}"} ${value}`)
    }
    delay?.reset()
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
    writeSample(lines, 'process_resident_memory_bytes', 'gauge', 'Memory of the process.', rss)
    writeSample(lines, 'nodejs_heap_used_bytes', 'gauge', 'Heap memory in use.', heapUsed)
    writeSample(lines, 'nodejs_heap_total_bytes', 'gauge', 'Heap memory reserved.', heapTotal)
    writeSample(
      lines,
      'nodejs_external_memory_bytes',
      'gauge',
      'Memory of buffers and native objects.',
      external,
    )
    const { user, system } = process.cpuUsage()
    writeSample(
      lines,
      'process_cpu_seconds_total',
      'counter',
      'Processor time.',
      (user + system) / 1e6,
    )
    const started = Math.round(performance.timeOrigin) / 1000
    writeSample(
      lines,
      'process_start_time_seconds',
      'gauge',
      'Start time of the process, in seconds since 1970.',
      started,
    )
  }

  #writeDatabase(lines: string[]): void {
    if (this.state.database === undefined) return
    this.#statements.write(lines, 'database_statements_total', 'Statements.')
    this.#statementSeconds.write(
      lines,
      'database_statement_seconds_total',
      'Duration of statements, in seconds.',
    )
    this.#statementErrors.write(lines, 'database_statement_errors_total', 'Statements that failed.')
    const { pool } = this.state.database
    if (pool !== undefined) writePools(lines, pool)
  }

  #writeGraphql(lines: string[]): void {
    this.#operations.write(lines, 'graphql_operations_total', 'GraphQL operations.')
    this.#operationSeconds.write(
      lines,
      'graphql_operation_seconds_total',
      'Duration of operations, in seconds.',
    )
    writeSample(
      lines,
      'graphql_subscribers',
      'gauge',
      'Open subscriptions.',
      this.state.subscribers,
    )
  }
}

/**
 * The histogram records the time between measurements: what exceeds the resolution is delay. An empty histogram means
 * none.
 */
function secondsLate(delay: IntervalHistogram, percentile: number): number {
  if (delay.count === 0) return 0
  return Math.max(0, Math.round(delay.percentile(percentile) / 1000 - resolution * 1000) / 1e6)
}

const kinds = new Set([
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'UPSERT'],
  ...['BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT'],
])

function statementKind(kind: string): string {
  return kinds.has(kind) ? kind.toLowerCase() : other
}
