/**
 * Records the latest requests for the development page: their steps with times, the SQL statements of each step, log lines
 * and errors. It subscribes to the framework's diagnostics channels, only in the process of `filigree dev`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { JobEvent, WatchedWork } from '../../core/diagnostics.js'
import type { GraphqlEvent } from '../../graphql/outcome.js'
import type { Claims, HttpRequest } from '../../http/request.js'
import type { HandlerEvent, RequestEvent } from '../../http/request-observers.js'
import type { StatementEvent } from '../../records/statement-tracking.js'
import { isOfPackage } from '../../bootstrap/module.js'
import { readsApplicationTables } from '../commands/explain-graphql.js'
import { reportError, type ErrorReport } from '../describe-error.js'
import { toLoggableError } from '../../serving/redaction/loggable-error.js'
import { type Secrets, Redactor } from '../../serving/redaction/redactor.js'

/** A step of a request. */
export interface RecordedStep {
  readonly kind: 'gate' | 'handler' | 'graphql' | 'statement'
  /** `ItemController.show`, `query Items`, or the SQL without secrets. */
  readonly name: string
  /** True for a statement that reads the application's tables, so that its query plan is of interest. */
  readonly readsApplicationTables: boolean
  /** Milliseconds since the request began. */
  readonly at: number
  /** Duration in milliseconds. Null while the step runs. */
  ms: number | null
  failed: boolean
  /** The cost of a GraphQL operation. */
  readonly cost?: number | undefined
  readonly steps: RecordedStep[]
}

export interface RecordedLine {
  readonly time: number
  readonly level: string
  readonly message: string
  readonly details: unknown
  /** The number of the request that logged the line. */
  readonly request: number | null
}

export interface RecordedRequest {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly method: string
  /** Without secrets. */
  url: string
  route: string | null
  handler: string | null
  /** 0 while the request runs. */
  status: number
  ms: number | null
  bytes: number
  headers: Readonly<Record<string, string>>
  body: unknown
  /** `sub` of the caller's token, `key` for the static key, or null. */
  caller: string | null
  kind: RequestKind
  /** True for an event stream: it stays open, and its end is not the response's. */
  readonly live: boolean
  readonly steps: RecordedStep[]
  readonly lines: RecordedLine[]
  fault: ErrorReport | null
}

/** Files that a page loads by itself, requests to pages of the framework and of packages, and all others. */
type RequestKind = 'application' | 'asset' | 'framework'

/** A finished run of a job. */
interface RecordedRun {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly outcome: string
  readonly ms: number
  readonly error: string | null
}

interface RecorderListeners {
  /** Called after each request. */
  readonly request?: ((request: RecordedRequest) => void) | undefined
  /** Called after each run of a job. */
  readonly job?: ((run: RecordedRun) => void) | undefined
}

/** Maximum numbers of stored requests and log lines, and of steps of a request. */
const limits = { requests: 200, lines: 500, steps: 2000 }
/** Maximum size in bytes of an unparsed body that is searched for secrets. */
const maxParsedBytes = 65_536

/** The SQL of steps with its secrets, to get the query plan. It is never shown. */
const sentSql = new WeakMap<RecordedStep, string>()

/** @returns the SQL as it was sent, which can contain secrets */
export function statementOf(step: RecordedStep): string {
  return sentSql.get(step) ?? step.name
}

/** The parts of a request that are needed to explain it, with its secrets. They are never shown. */
export interface SentRequest {
  readonly path: string
  readonly claims: Claims | undefined
  readonly secrets: Secrets
}

const sentRequests = new WeakMap<RecordedRequest, SentRequest>()

/** @returns undefined while the request runs */
export function sentRequestOf(request: RecordedRequest): SentRequest | undefined {
  return sentRequests.get(request)
}

export class Recorder {
  readonly redactor: Redactor
  readonly requests: RecordedRequest[] = []
  readonly lines: RecordedLine[] = []
  /** The `ApplicationState` of each recorded application. */
  readonly watched = new WeakSet()
  readonly #listeners: RecorderListeners
  readonly #context = new AsyncLocalStorage<RecordedContext>()
  readonly #steps = new WeakMap<object, RecordedStep>()
  readonly #contexts = new WeakMap<object, RecordedContext>()
  readonly #contextsByRequest = new WeakMap<HttpRequest, RecordedContext>()
  readonly #unsubscribers: (() => void)[] = []
  #number = 0

  constructor(redactor: Redactor, listeners: RecorderListeners = {}) {
    this.redactor = redactor
    this.#listeners = listeners
    const { bindStart } = this
    bindStart('filigree:request', (event: RequestEvent) => this.#beginRequest(event))
    bindStart('filigree:gate', (event: HandlerEvent) => this.#beginStep(event, 'gate', 'gate'))
    bindStart('filigree:handler', (event: HandlerEvent) =>
      this.#beginStep(event, 'handler', event.name),
    )
    bindStart('filigree:graphql', (event: GraphqlEvent) => {
      const name = redactor.text(`${event.type} ${event.name ?? ''}`.trim())
      return this.#beginStep(event, 'graphql', name, { cost: event.cost })
    })
    bindStart('filigree:statement', (event: StatementEvent) => this.#beginStatement(event))
    this.#subscribe('filigree:request', (event) => {
      this.#endRequest(event as RequestEvent)
    })
    if (listeners.job !== undefined)
      this.#subscribe('filigree:job', (event) => {
        this.#recordRun(event as JobEvent)
      })
    for (const name of ['gate', 'handler', 'graphql', 'statement'])
      this.#subscribe(`filigree:${name}`, (event) => {
        this.#endStep(event as WatchedWork & { failed?: boolean })
      })
  }

  /** Unsubscribes from all channels. */
  close(): void {
    for (const unsubscribe of this.#unsubscribers) unsubscribe()
  }

  /** Stores a log line, and adds it to the current request. */
  recordLine(level: string, text: string, details: object): void {
    const context = this.#context.getStore()
    const request = context?.request
    const { redactor } = this
    const secrets = this.currentSecrets()
    const message = redactor.text(text, secrets)
    const line: RecordedLine = {
      time: Date.now(),
      level,
      message,
      details: redactor.value(details, secrets),
      request: request?.number ?? null,
    }
    push(this.lines, line, limits.lines)
    if (request !== undefined) push(request.lines, line, limits.lines)
  }

  /** The secrets of the current request. Outside requests: the secrets of the latest requests. */
  currentSecrets(): Secrets {
    const context = this.#context.getStore()
    if (context === undefined) return this.redactor.recent
    this.#scan(context)
    return context.secrets
  }

  /** Adds the secrets of the path, once the route is known, and of the body, after the body was read. */
  #scan({ httpRequest, request: recorded, secrets, scanned }: RecordedContext): void {
    const { body, route } = httpRequest
    if (route !== undefined && !scanned.path) {
      scanned.path = true
      recorded.url = this.redactor.url(httpRequest.url, route.path, secrets)
    }
    if (body === scanned.body) return
    scanned.body = body
    const { redactor } = this
    recorded.body = redactor.value(body, secrets)
    // The body is raw if the handler parses it.
    if (ArrayBuffer.isView(body) && body.byteLength < maxParsedBytes)
      redactor.text(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(), secrets)
    redactor.remember(secrets)
  }

  clear(): void {
    this.requests.length = 0
    this.lines.length = 0
    this.redactor.recent.clear()
  }

  /** At each start event of a channel, `open` returns the context in which the work runs. */
  private readonly bindStart = (
    name: string,
    open: (work: never) => RecordedContext | undefined,
  ): void => {
    const start = channel(`tracing:${name}:start`)
    start.bindStore(this.#context, (work) => open(work as never))
    this.#unsubscribers.push(() => {
      start.unbindStore(this.#context)
    })
  }

  #subscribe(name: string, listener: (event: unknown) => void): void {
    subscribe(name, listener)
    this.#unsubscribers.push(() => {
      unsubscribe(name, listener)
    })
  }

  #beginRequest(event: RequestEvent): RecordedContext | undefined {
    const { request, application } = event
    if (!this.watched.has(application)) return undefined
    const { redactor } = this
    const secrets: Secrets = new Set()
    const headers = redactor.headers(request.headers, secrets)
    const recorded: RecordedRequest = {
      number: ++this.#number,
      time: Date.now(),
      method: request.method,
      url: redactor.url(request.url, undefined, secrets),
      route: null,
      handler: null,
      status: 0,
      ms: null,
      bytes: 0,
      headers,
      body: undefined,
      caller: null,
      kind: kindOf(request),
      live: /\btext\/event-stream\b/i.test(request.headers.accept ?? ''),
      steps: [],
      lines: [],
      fault: null,
    }
    push(this.requests, recorded, limits.requests)
    const context: RecordedContext = {
      request: recorded,
      httpRequest: request,
      secrets,
      scanned: { body: undefined, path: false },
      steps: recorded.steps,
      startedAt: performance.now(),
      count: [0],
    }
    this.#contexts.set(event, context)
    this.#contextsByRequest.set(request, context)
    return context
  }

  /**
   * Records the error of a request before its response is sent.
   *
   * @returns undefined if the request is not recorded
   */
  recordError(request: HttpRequest, error: unknown): RecordedRequest | undefined {
    const context = this.#contextsByRequest.get(request)
    if (context === undefined) return undefined
    this.#scan(context)
    const { request: recorded, secrets } = context
    recorded.handler = request.route?.name ?? null
    recorded.url = this.redactor.url(request.url, request.route?.path, secrets)
    recorded.fault = this.#report(error, secrets)
    return recorded
  }

  #endRequest(event: RequestEvent): void {
    const context = this.#contexts.get(event)
    if (context === undefined) return
    const { redactor } = this
    const { request: recorded, secrets } = context
    const { request, status, ms, bytes, error } = event
    this.#scan(context)
    recorded.status = status
    recorded.ms = round(ms)
    recorded.bytes = bytes
    recorded.route = request.route?.path ?? null
    recorded.handler = request.route?.name ?? null
    recorded.url = redactor.url(request.url, request.route?.path, secrets)
    const { sub } = request.user ?? {}
    recorded.caller =
      request.auth?.by === 'key' ? 'key' : sub === undefined ? null : redactor.text(sub, secrets)
    recorded.fault = status >= 500 && error !== undefined ? this.#report(error, secrets) : null
    recorded.kind = kindOf(request)
    sentRequests.set(recorded, {
      path: pathOf(request),
      claims: request.auth?.by === 'key' ? undefined : (request.user ?? undefined),
      secrets,
    })
    this.#listeners.request?.(recorded)
  }

  #recordRun({ application, id, job, attempt, outcome = 'lost', ms, error }: JobEvent): void {
    if (!this.watched.has(application)) return
    const { redactor } = this
    this.#listeners.job?.({
      id,
      name: job,
      attempt,
      outcome,
      ms: round(ms),
      error:
        error === undefined ? null : toStackText(toLoggableError(error, redactor, redactor.recent)),
    })
  }

  #report(error: unknown, secrets: Secrets): ErrorReport {
    const readable = toLoggableError(error, this.redactor, secrets)
    return reportError(readable, (text) => this.redactor.text(text, secrets))
  }

  #beginStatement(event: StatementEvent): RecordedContext | undefined {
    const { sql, kind } = event
    const isWritten = kind === 'UNKNOWN' || kind === 'SCRIPT'
    const redactedSql = this.redactor.sql(sql, isWritten, this.currentSecrets())
    const context = this.#beginStep(event, 'statement', redactedSql, {
      readsApplicationTables: readsApplicationTables(event),
    })
    const step = this.#steps.get(event)
    if (step !== undefined) sentSql.set(step, sql)
    return context
  }

  #beginStep(
    work: object,
    kind: RecordedStep['kind'],
    name: string,
    more: { readonly cost?: number; readonly readsApplicationTables?: boolean } = {},
  ): RecordedContext | undefined {
    const context = this.#context.getStore()
    // Work outside of requests, or a request with too many steps.
    if (context === undefined || (context.count[0] ?? 0) >= limits.steps) return context
    context.count[0] = (context.count[0] ?? 0) + 1
    const at = round(performance.now() - context.startedAt)
    const { cost, readsApplicationTables = false } = more
    const step: RecordedStep = {
      kind,
      name,
      readsApplicationTables,
      at,
      ms: null,
      failed: false,
      cost,
      steps: [],
    }
    context.steps.push(step)
    this.#steps.set(work, step)
    return { ...context, steps: step.steps }
  }

  #endStep(work: WatchedWork & { failed?: boolean }): void {
    const step = this.#steps.get(work)
    if (step === undefined) return
    step.ms = round(work.ms)
    step.failed = work.error !== undefined || work.failed === true
  }
}

/** The request and the step that the current work belongs to. */
interface RecordedContext {
  readonly request: RecordedRequest
  readonly httpRequest: HttpRequest
  /** Secrets that the request contains. */
  readonly secrets: Secrets
  /** The body that was searched for secrets last, and whether the path was. */
  readonly scanned: { body: unknown; path: boolean }
  readonly steps: RecordedStep[]
  readonly startedAt: number
  /** Number of steps of the request, shared by its contexts. */
  readonly count: number[]
}

const assetPath =
  /\.(?:avif|css|eot|gif|ico|jpe?g|m?js|map|otf|png|svg|ttf|webmanifest|webp|woff2?)$|^\/\.well-known\//i
const assetUses: ReadonlySet<string> = new Set([
  ...['audio', 'font', 'image', 'manifest', 'script', 'style', 'track', 'video', 'worker'],
])

function kindOf(request: HttpRequest): RequestKind {
  const { route, headers, method } = request
  if (route?.controller !== undefined)
    return isOfPackage(route.controller) ? 'framework' : 'application'
  const isAsset =
    route?.name === 'static' ||
    assetUses.has(headers['sec-fetch-dest'] ?? '') ||
    (route === undefined && assetPath.test(pathOf(request)))
  if (isAsset) return 'asset'
  // Operations of GraphQL and live queries are the application's. The IDE is read with GET.
  const isOperation = method === 'POST' && (route?.name === 'graphql' || route?.name === 'live')
  return route === undefined || isOperation ? 'application' : 'framework'
}

function pathOf({ url }: HttpRequest): string {
  return url.split('?', 1)[0] ?? ''
}

function push<T>(list: T[], entry: T, max: number): void {
  list.push(entry)
  if (list.length > max) list.shift()
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}

function toStackText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
