/**
 * `filigree/tracing`: creates OpenTelemetry spans from the events of the framework, with `@opentelemetry/api` only. The application starts an SDK before
 * `bootstrap`. Without one, nothing is traced and a warning is logged. Code inside a span runs in its context.
 * Sources: OpenTelemetry, Semantic Conventions for HTTP spans and for database spans.
 */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  type HttpRequest,
  type RequestEvent,
  type StatementEvent,
  addLogFields,
  ApplicationState,
  HttpError,
  type GateEvent,
  type GraphqlEvent,
  type HandlerEvent,
  type JobAddedEvent,
  type JobEvent,
  type ToolEvent,
  type WatchedWork,
  createModule,
  declareOptions,
} from '../../index.js'
import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
  SpanKind,
  SpanStatusCode,
  type Context,
  type Span,
  type SpanContext,
} from './opentelemetry.js'
import { ContextStore } from './context-store.js'
import { installPropagator, propagateInFetch } from './trace-context.js'

type Attributes = Record<string, string | number>

const methods = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'],
])

/** The method in a span's name: unusual ones become `HTTP`. */
function toMethod({ method }: HttpRequest): string {
  return methods.has(method) ? method : 'HTTP'
}

/** Without the query, which may contain secrets. */
function startAttributes(request: HttpRequest): Attributes {
  const { method, headers, incoming } = request
  const isKnown = methods.has(method)
  const attributes: Attributes = {
    'http.request.method': isKnown ? method : '_OTHER',
    'url.path': request.path,
    'url.scheme': request.secure ? 'https' : 'http',
    'client.address': request.ip,
    'network.protocol.version': incoming.httpVersion,
  }
  if (!isKnown) attributes['http.request.method_original'] = method
  if (headers['user-agent'] !== undefined) attributes['user_agent.original'] = headers['user-agent']
  const [, host, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(headers.host ?? '') ?? []
  if (host !== undefined && host !== '') attributes['server.address'] = host
  if (port !== undefined) attributes['server.port'] = Number(port)
  return attributes
}

function endAttributes({ request, status, bytes, aborted }: RequestEvent): Attributes {
  const attributes: Attributes = { 'http.response.body.size': bytes }
  // 499 was never sent.
  if (!aborted || status !== 499) attributes['http.response.status_code'] = status
  if (request.route !== undefined) attributes['http.route'] = request.route.path
  if (status >= 500) attributes['error.type'] = String(status)
  return attributes
}

function statementAttributes({ system, kind, table, sql }: StatementEvent): Attributes {
  return {
    'db.system.name': system,
    'db.operation.name': kind,
    'db.query.text': withoutValues(sql),
    ...(table === undefined ? {} : { 'db.collection.name': table }),
  }
}

const cleanTexts = new Map<string, string>()
const maxCleanTexts = 1000

/** Values are sent apart from the text; literals that a program has written into the text are removed. */
function withoutValues(sql: string): string {
  let text = cleanTexts.get(sql)
  if (text === undefined) {
    text = sql.replace(
      /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$\d+|(?<![\w$.])\d+(?:\.\d+)?(?![\w.])/g,
      (part) => (part.startsWith('"') || part.startsWith('$') ? part : '?'),
    )
    if (cleanTexts.size >= maxCleanTexts) cleanTexts.clear()
    cleanTexts.set(sql, text)
  }
  return text
}

/** One instance per process, because events, tracer, context and propagation are global. */
let activeApplications = 0
let stop: (() => void) | undefined
/** Removes secrets from recorded errors; set by the first application. */
let redactError: (error: unknown) => Error = () => new Error()

/** Listens while an application with this module runs, if the process has an SDK. */
class Tracing {
  static readonly inject = [ApplicationState]

  constructor(private readonly state: ApplicationState) {}

  onStart(): void {
    if (activeApplications++ > 0) return
    redactError = (error) => this.state.redactError(error)
    if (hasSdk()) stop = startTracing()
    else this.state.log.warn({}, noSdk)
  }

  onStop(): void {
    if (--activeApplications > 0) return
    stop?.()
    stop = undefined
  }
}

const noSdk =
  'tracing: OpenTelemetry has no SDK in this process, so nothing is traced. Register an SDK before bootstrap.'

/** The API's default tracer makes spans without an id. */
function hasSdk(): boolean {
  const span = tracer().startSpan('filigree', { root: true })
  return isSpanContextValid(span.spanContext())
}

const tracer = (): ReturnType<typeof trace.getTracer> => trace.getTracer('filigree')

/** The spans of current work. */
const spans = new WeakMap<object, Span>()
/** The spans of requests, for lines of the log. */
const requestSpans = new WeakMap<object, Span>()

function startTracing(): () => void {
  const store = new ContextStore()
  const stopCallbacks = [store.install(), installPropagator()]
  const listen = <Work extends WatchedWork>(
    name: string,
    begin: (work: Work) => Context,
    end: (work: Work, span: Span) => void,
  ): void => {
    stopCallbacks.push(bind(store, name, begin), onEnd(name, end))
  }
  listen<RequestEvent>('filigree:request', beginRequest, endRequest)
  listen<GateEvent>('filigree:gate', (work) => begin(work, 'gate'), endWork)
  listen<HandlerEvent>('filigree:handler', (work) => begin(work, work.name), endWork)
  listen<GraphqlEvent>('filigree:graphql', beginOperation, endOperation)
  listen<StatementEvent>('filigree:statement', beginStatement, endStatement)
  listen<ToolEvent>('filigree:tool', beginTool, endWork)
  listen<JobEvent>('filigree:job', beginJob, endJob)
  stopCallbacks.push(traceAdded())
  stopCallbacks.push(propagateInFetch(), addLogFields(traceFields))
  return () => {
    for (const end of stopCallbacks.reverse()) end()
  }
}

function bind(store: ContextStore, name: string, begin: (work: never) => Context): () => void {
  const start = channel(`tracing:${name}:start`)
  start.bindStore(store, (work) => begin(work as never))
  return () => {
    start.unbindStore(store)
  }
}

function onEnd(name: string, end: (work: never, span: Span) => void): () => void {
  const listener = (message: unknown): void => {
    const span = spans.get(message as object)
    if (span === undefined) return
    end(message as never, span)
    span.end()
  }
  subscribe(name, listener)
  return () => {
    unsubscribe(name, listener)
  }
}

/** Starts a child span, if there is a current span and it is sampled. */
function begin(work: object, name: string, options: Parameters<typeof startSpan>[2] = {}): Context {
  const parent = context.active()
  const hasNoParent = trace.getSpanContext(parent) === undefined
  return hasNoParent || isNotSampled(parent) ? parent : startSpan(work, name, options, parent)
}

function startSpan(
  work: object,
  name: string,
  options: {
    kind?: SpanKind
    attributes?: Record<string, string | number>
    links?: { context: SpanContext }[]
  },
  parent: Context,
): Context {
  const span = tracer().startSpan(name, { kind: SpanKind.INTERNAL, ...options }, parent)
  spans.set(work, span)
  return trace.setSpan(parent, span)
}

/** The trace was started with the flag "not sampled". */
function isNotSampled(parent: Context): boolean {
  const parentSpan = trace.getSpanContext(parent)
  return parentSpan !== undefined && (parentSpan.traceFlags & TraceFlags.SAMPLED) === 0
}

function beginRequest(event: RequestEvent): Context {
  const { request } = event
  const isInternal = request.parentRequest !== undefined
  const parent = isInternal ? context.active() : propagation.extract(ROOT_CONTEXT, request.headers)
  const parentSpan = trace.getSpan(parent)
  if (parentSpan !== undefined && isNotSampled(parent)) {
    requestSpans.set(request, parentSpan)
    return parent
  }
  const attributes = startAttributes(request)
  const spanContext = startSpan(
    event,
    toMethod(request),
    { kind: isInternal ? SpanKind.INTERNAL : SpanKind.SERVER, attributes },
    parent,
  )
  const span = trace.getSpan(spanContext)
  if (span !== undefined) requestSpans.set(request, span)
  return spanContext
}

function endRequest(event: RequestEvent, span: Span): void {
  const { request, status, error } = event
  const route = request.route?.path
  if (route !== undefined) span.updateName(`${toMethod(request)} ${route}`)
  span.setAttributes(endAttributes(event))
  // A client's mistake is not an error of the server.
  if (status < 500) return
  span.setStatus({ code: SpanStatusCode.ERROR })
  if (error !== undefined) span.recordException(redactError(error))
}

function endWork({ error }: WatchedWork, span: Span): void {
  if (error === undefined || isClientError(error)) return
  const redacted = redactError(error)
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', isReadableError(error) ? redacted.name : '_OTHER')
  span.recordException(redacted)
}

/** Reading a thrown value may throw. */
function isClientError(error: unknown): boolean {
  return isReadableError(error) && error instanceof HttpError && error.status < 500
}

function isReadableError(error: unknown): error is Error {
  try {
    return error instanceof Error
  } catch {
    return false
  }
}

/** The request to the route of the tool is a child of this span. */
function beginTool(event: ToolEvent): Context {
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': event.tool }
  return begin(event, 'mcp.tool', { attributes })
}

function beginOperation(event: GraphqlEvent): Context {
  const { type, name } = event
  const attributes = {
    'graphql.operation.type': type,
    ...(name === undefined ? {} : { 'graphql.operation.name': name }),
  }
  // The client chooses the name, so it is an attribute and not the span's name.
  return begin(event, type, { attributes })
}

function endOperation(event: GraphqlEvent, span: Span): void {
  endWork(event, span)
  if (event.failed) span.setStatus({ code: SpanStatusCode.ERROR })
}

/**
 * Each run is a separate trace, because it may run hours later and repeatedly. It is linked to the trace that added the job.
 */
function beginJob(event: JobEvent): Context {
  const { job, id, attempt, trace: traceparent } = event
  const added = propagation.extract(ROOT_CONTEXT, { traceparent: traceparent ?? '' })
  const parentSpan = trace.getSpanContext(added)
  const attributes = { 'job.name': job, 'job.id': id, 'job.attempt': attempt }
  const links = parentSpan === undefined ? [] : [{ context: parentSpan }]
  return startSpan(
    event,
    `job ${job}`,
    { kind: SpanKind.CONSUMER, attributes, links },
    ROOT_CONTEXT,
  )
}

function endJob(event: JobEvent, span: Span): void {
  endWork(event, span)
  if (event.outcome !== undefined) span.setAttribute('job.outcome', event.outcome)
}

/** Stores the current trace in added jobs. */
function traceAdded(): () => void {
  const onJobAdded = (message: unknown): void => {
    const carrier: Record<string, string> = {}
    propagation.inject(context.active(), carrier)
    if (carrier.traceparent !== undefined) (message as JobAddedEvent).trace = carrier.traceparent
  }
  subscribe('filigree:job-added', onJobAdded)
  return () => {
    unsubscribe('filigree:job-added', onJobAdded)
  }
}

function beginStatement(event: StatementEvent): Context {
  const { kind, table } = event
  const name = table === undefined ? kind : `${kind} ${table}`
  return begin(event, name, { kind: SpanKind.CLIENT, attributes: statementAttributes(event) })
}

/** The message of the driver may contain values, so only the kind of the error is recorded. */
function endStatement({ error }: StatementEvent, span: Span): void {
  if (error === undefined) return
  const { kind } = error as { kind?: unknown }
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', typeof kind === 'string' ? kind : '_OTHER')
}

function traceFields(request: object | undefined): Record<string, unknown> | undefined {
  const running = trace.getSpan(context.active()) ?? (request && requestSpans.get(request))
  const { traceId, spanId, traceFlags } = running?.spanContext() ?? {}
  if (traceId === undefined || /^0*$/.test(traceId)) return undefined
  return { trace_id: traceId, span_id: spanId, trace_flags: `0${String(traceFlags ?? 0)}` }
}

/** Makes spans of requests, gates, handlers, statements and GraphQL operations. */
export const tracing = createModule(function tracing(...none: []) {
  const [options]: readonly unknown[] = none
  return {
    problems: declareOptions({}).findProblems(options, 'tracing'),
    providers: [Tracing],
    cors: { allowedHeaders: ['traceparent', 'tracestate'] },
  }
})
