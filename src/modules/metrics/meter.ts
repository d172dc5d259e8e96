/** Counts requests, statements, GraphQL operations and job runs of an application from its events, and returns the counts as metric families. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  ApplicationState,
  logFieldsOf,
  type GraphqlEvent,
  type HttpRequest,
  type JobEvent,
  type RequestOutcome,
  type RouteInfo,
  type StatementEvent,
} from '../../index.js'
import { WorkerMetrics } from './worker-metrics.js'
import { poolFamilies, readOtherGauges, ProcessMetrics, processorTime } from './gauges.js'
import {
  countersOnly,
  counter,
  gauge,
  type Family,
  Counters,
  Series,
  toLabelText,
} from './metric-families.js'

/** Operations with their own series. The number is limited because clients choose the names. */
const maxOperations = 250
const other = '_other'
/** The label of requests without a route. */
const unmatched = 'unmatched'
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** In seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const jobBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600]

export interface MeterOptions {
  /** True: buckets have the trace of the last request. */
  readonly exemplars: boolean
}

export class Meter {
  readonly #state: ApplicationState
  readonly #exemplars: boolean
  readonly #workers = new WorkerMetrics({
    measure: () => this.#measure(),
    count: () => [
      ...countersOnly(this.#httpFamilies()),
      processorTime(),
      ...this.#databaseCounters(),
      ...this.#graphqlCounters(),
      ...this.#liveCounters(),
      ...this.#jobFamilies(),
    ],
  })
  readonly #process = new ProcessMetrics()
  readonly #requests = new Map<string, Series>()
  readonly #statements = new Counters('table', 'kind')
  readonly #statementSeconds = new Counters('table', 'kind')
  readonly #statementErrors = new Counters('table', 'kind')
  readonly #operations = new Counters('name', 'type', 'outcome')
  readonly #operationSeconds = new Counters('name', 'type')
  readonly #operationNames = new Set<string>()
  readonly #jobs = new Counters('job', 'outcome')
  readonly #jobSeconds = new Map<string, Series>()
  readonly #seriesByRoute = new Map<RouteInfo | string, Map<string, Series[]>>()
  #inFlight = 0
  #received = 0
  #sent = 0
  #throttled = 0
  #tables: ReadonlySet<string> = new Set()
  #stopCallbacks: (() => void)[] = []

  constructor(state: ApplicationState, { exemplars }: MeterOptions) {
    this.#state = state
    this.#exemplars = exemplars
  }

  onStart(): void {
    this.#process.start()
    const stopObserving = this.#state.observe({
      begins: () => {
        this.#inFlight++
      },
      ends: (request, outcome) => {
        this.#countRequest(request, outcome)
      },
    })
    this.#stopCallbacks = [
      stopObserving,
      listen('filigree:statement', (event) => {
        this.#countStatement(event as StatementEvent)
      }),
      listen('filigree:job', (event) => {
        this.#countJob(event as JobEvent)
      }),
      listen('filigree:graphql', (event) => {
        this.#countOperation(event as GraphqlEvent)
      }),
    ]
    this.#workers.start()
  }

  onStop(): void {
    for (const stop of this.#stopCallbacks.splice(0)) stop()
    this.#process.stop()
    this.#workers.stop()
  }

  /** The metrics of this process, or of all workers together. */
  async read(isLabelled: boolean): Promise<readonly Family[]> {
    const families = await this.#workers.measure(isLabelled)
    return [...families, ...(await readOtherGauges(this.#state))]
  }

  #countRequest(request: HttpRequest, { status, bytes, received, ms }: RequestOutcome): void {
    this.#inFlight--
    const series = this.#seriesOf(request, status)
    const seconds = ms / 1000
    const bucket = series.observe(seconds)
    this.#sent += bytes
    this.#received += received
    if (status === 429) this.#throttled++
    this.#workers.hasUnreportedCounts = true
    if (!this.#exemplars) return
    const traceId = sampledTrace(request)
    if (traceId !== undefined)
      series.setExemplar(bucket, { traceId, value: seconds, at: Date.now() / 1000 })
  }

  /** Cached for each route, method and status. */
  #seriesOf({ method, route }: HttpRequest, status: number): Series {
    const key = route ?? unmatched
    let byStatus = this.#seriesByRoute.get(key)
    if (byStatus === undefined)
      this.#seriesByRoute.set(key, (byStatus = new Map<string, Series[]>()))
    let series = byStatus.get(method)
    if (series === undefined) {
      series = []
      // Clients may send any method; unknown methods share a series.
      if (methods.has(method)) byStatus.set(method, series)
    }
    return (series[status] ??= this.#makeSeries(method, route?.path, status))
  }

  #makeSeries(method: string, route = unmatched, status: number): Series {
    const methodLabel = methods.has(method) ? method : other
    const labels = toLabelText({ method: methodLabel, route, status: String(status) })
    let series = this.#requests.get(labels)
    if (series === undefined) this.#requests.set(labels, (series = new Series(buckets)))
    return series
  }

  #countStatement({ database, kind, table, ms, error }: StatementEvent): void {
    if (!this.#state.owns(database)) return
    const [tableLabel, kindLabel] = [this.#tableLabel(table), statementKind(kind)]
    this.#statements.get(tableLabel, kindLabel).sum++
    this.#statementSeconds.get(tableLabel, kindLabel).sum += ms / 1000
    if (error !== undefined) this.#statementErrors.get(tableLabel, kindLabel).sum++
    this.#workers.hasUnreportedCounts = true
  }

  /** Tables of records have their own label; all other tables share one. */
  #tableLabel(table: string | undefined): string {
    if (table === undefined) return ''
    if (this.#tables.has(table)) return table
    const tableNames = new Set([...(this.#state.database?.tables ?? [])].map(({ name }) => name))
    this.#tables = tableNames
    return tableNames.has(table) ? table : other
  }

  #countOperation({ graphql, type, name = '', failed, error, ms }: GraphqlEvent): void {
    if (!this.#state.owns(graphql)) return
    if (this.#operationNames.size < maxOperations) this.#operationNames.add(name)
    const nameLabel = this.#operationNames.has(name) ? name : other
    const outcome = failed || error !== undefined ? 'error' : 'ok'
    this.#operations.get(nameLabel, type, outcome).sum++
    this.#operationSeconds.get(nameLabel, type).sum += ms / 1000
    this.#workers.hasUnreportedCounts = true
  }

  #countJob({ application, job, outcome = 'lost', ms }: JobEvent): void {
    if (application !== this.#state) return
    this.#jobs.get(job, outcome.replace(' ', '_')).sum++
    const labels = toLabelText({ job })
    let series = this.#jobSeconds.get(labels)
    if (series === undefined) this.#jobSeconds.set(labels, (series = new Series(jobBuckets)))
    series.observe(ms / 1000)
    this.#workers.hasUnreportedCounts = true
  }

  /** Empty before the first job run. */
  #jobFamilies(): Family[] {
    if (this.#jobSeconds.size === 0) return []
    return [
      counter('jobs_runs', 'Runs of jobs.', this.#jobs.samples()),
      {
        name: 'jobs_run_seconds',
        type: 'histogram',
        help: 'Seconds of runs of jobs.',
        bounds: jobBuckets,
        samples: [...this.#jobSeconds].map(([labels, { counts, sum }]) => [
          labels,
          { counts: [...counts], sum, exemplars: undefined },
        ]),
      },
    ]
  }

  #measure(): Family[] {
    const pool = this.#state.database?.pool
    return [
      ...this.#httpFamilies(),
      ...this.#process.read(),
      ...this.#databaseCounters(),
      ...(pool === undefined ? [] : poolFamilies(pool)),
      ...this.#graphqlCounters(),
      gauge('graphql_subscribers', 'Open subscriptions.', this.#state.subscribers),
      gauge('live_listeners', 'Open subscribers of live queries.', this.#state.live.listeners),
      gauge('live_answers', 'Different live queries.', this.#state.live.answers),
      ...this.#liveCounters(),
      ...this.#jobFamilies(),
    ]
  }

  #liveCounters(): Family[] {
    const { runs, messages } = this.#state.live
    return [
      counter('live_runs', 'Runs of live queries.', runs),
      counter('live_messages', 'Messages of live queries, to all subscribers.', messages),
    ]
  }

  #httpFamilies(): Family[] {
    return [
      {
        name: 'http_request_duration_seconds',
        type: 'histogram',
        help: 'Seconds from the head of a request to the last byte of its response.',
        bounds: buckets,
        samples: [...this.#requests].map(([labels, { counts, sum, exemplars }]) => [
          labels,
          { counts: [...counts], sum, exemplars: exemplars && [...exemplars] },
        ]),
      },
      gauge('http_requests_in_flight', 'Requests in progress.', this.#inFlight),
      counter('http_request_bytes', 'Bytes of request bodies received.', this.#received),
      counter('http_response_bytes', 'Bytes of response bodies sent.', this.#sent),
      counter('http_requests_throttled', 'Requests answered with 429.', this.#throttled),
    ]
  }

  #databaseCounters(): Family[] {
    if (this.#state.database === undefined) return []
    return [
      counter('database_statements', 'Statements.', this.#statements.samples()),
      counter(
        'database_statement_seconds',
        'Duration of statements, in seconds.',
        this.#statementSeconds.samples(),
      ),
      counter(
        'database_statement_errors',
        'Statements that failed.',
        this.#statementErrors.samples(),
      ),
    ]
  }

  #graphqlCounters(): Family[] {
    return [
      counter('graphql_operations', 'GraphQL operations.', this.#operations.samples()),
      counter(
        'graphql_operation_seconds',
        'Duration of operations, in seconds.',
        this.#operationSeconds.samples(),
      ),
    ]
  }
}

function listen(channel: string, listener: (event: unknown) => void): () => void {
  subscribe(channel, listener)
  return () => {
    unsubscribe(channel, listener)
  }
}

/** The id of the trace of a request, if it is sampled: from its span, or from the header of the request. */
function sampledTrace(request: HttpRequest): string | undefined {
  const fields = (logFieldsOf(request) ?? {}) as Readonly<Record<string, unknown>>
  if (typeof fields.trace_id === 'string')
    return isSampled(fields.trace_flags) ? fields.trace_id : undefined
  const parent = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-([\da-f]{2})/.exec(
    request.headers.traceparent ?? '',
  )
  return parent !== null && isSampled(parent[2]) ? parent[1] : undefined
}

function isSampled(flags: unknown): boolean {
  return (Number.parseInt(String(flags), 16) & 1) === 1
}

const kinds = new Set([
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'UPSERT'],
  ...['BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT'],
])

function statementKind(kind: string): string {
  return kinds.has(kind) ? kind.toLowerCase() : other
}
