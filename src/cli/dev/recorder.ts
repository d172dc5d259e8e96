/**
 * Records what requests do: their steps with times, statements nested in the step that sent them, what they logged and
 * what went wrong. Listens to the framework's events, and only in the process of `filigree dev`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { JobEvent, WatchedWork } from '../../core/diagnostics.js'
import type { GraphqlEvent } from '../../graphql/operation-events.js'
import type { HttpRequest } from '../../http/request.js'
import type { HandlerEvent, RequestEvent } from '../../http/request-events.js'
import type { StatementEvent } from '../../records/statement-events.js'
import { isQuestion } from '../plan-statement.js'
import { findFault, type Fault } from '../describe-error.js'
import { type Seen, Redactor } from './redactor.js'

/** A step of a request. */
export interface RecordedStep {
  readonly kind: 'gate' | 'handler' | 'graphql' | 'statement'
  /** `ItemController.show`, `query Items`, the SQL without what is a secret. */
  readonly name: string
  /** A statement that asks tables of the application: its plan tells something. */
  readonly isQuestion: boolean
  /** Milliseconds after the request's head. */
  readonly at: number
  /** Milliseconds that it took; null while it runs. */
  ms: number | null
  failed: boolean
  /** Of an operation of GraphQL. */
  readonly cost?: number | undefined
  readonly steps: RecordedStep[]
}

export interface RecordedLine {
  readonly time: number
  readonly level: string
  readonly message: string
  readonly details: unknown
  /** The number of its request. */
  readonly request: number | null
}

export interface RecordedRequest {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly method: string
  /** Values of secrets are left out. */
  url: string
  route: string | null
  handler: string | null
  /** 0 while it runs. */
  status: number
  ms: number | null
  bytes: number
  headers: Readonly<Record<string, string>>
  body: unknown
  /** Who asked: `sub` of the token, `key`, or null. */
  caller: string | null
  readonly steps: RecordedStep[]
  readonly lines: RecordedLine[]
  fault: Fault | null
}

/** A run of a job that is over. */
export interface RecordedRun {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly outcome: string
  readonly ms: number
  readonly error: string | null
}

export interface RecorderListeners {
  /** A request is over. */
  readonly request?: ((request: RecordedRequest) => void) | undefined
  /** A run of a job is over. */
  readonly job?: ((run: RecordedRun) => void) | undefined
}

/** Kept of each. */
const most = { requests: 200, lines: 500, steps: 2000 }
/** Bytes of a body that is looked through for secrets. */
const mostParsed = 65_536

/** The SQL of steps as it was sent: for its plan alone. */
const sent = new WeakMap<RecordedStep, string>()

/** @returns the statement as it was sent, which nobody may see */
export function statementOf(step: RecordedStep): string {
  return sent.get(step) ?? step.name
}

export class Recorder {
  readonly redactor: Redactor
  readonly requests: RecordedRequest[] = []
  readonly lines: RecordedLine[] = []
  /** The `ApplicationState` of each application that is watched. */
  readonly watched = new WeakSet()
  readonly #listeners: RecorderListeners
  readonly #place = new AsyncLocalStorage<Place>()
  readonly #steps = new WeakMap<object, RecordedStep>()
  readonly #places = new WeakMap<object, Place>()
  readonly #ends: (() => void)[] = []
  #number = 0

  constructor(redactor: Redactor, listeners: RecorderListeners = {}) {
    this.redactor = redactor
    this.#listeners = listeners
    const { begin } = this
    begin('filigree:request', (event: RequestEvent) => this.#beginRequest(event))
    begin('filigree:gate', (event: HandlerEvent) => this.#beginStep(event, 'gate', 'gate'))
    begin('filigree:handler', (event: HandlerEvent) =>
      this.#beginStep(event, 'handler', event.name),
    )
    begin('filigree:graphql', (event: GraphqlEvent) => {
      const name = redactor.text(`${event.type} ${event.name ?? ''}`.trim())
      return this.#beginStep(event, 'graphql', name, { cost: event.cost })
    })
    begin('filigree:statement', (event: StatementEvent) => this.#beginStatement(event))
    this.#onEnd('filigree:request', (event) => {
      this.#endRequest(event as RequestEvent)
    })
    if (listeners.job !== undefined)
      this.#onEnd('filigree:job', (event) => {
        this.#tellRun(event as JobEvent)
      })
    for (const name of ['gate', 'handler', 'graphql', 'statement'])
      this.#onEnd(`filigree:${name}`, (event) => {
        this.#endStep(event as WatchedWork & { failed?: boolean })
      })
  }

  /** Listens no more. */
  close(): void {
    for (const end of this.#ends) end()
  }

  /** Keeps a line of the log, with the request that it was written in. */
  note(level: string, given: string, details: object): void {
    const place = this.#place.getStore()
    const request = place?.request
    const { redactor } = this
    const seen = this.seen()
    const message = redactor.text(given, seen)
    const line: RecordedLine = {
      ...{ time: Date.now(), level, message, details: redactor.value(details, seen) },
      request: request?.number ?? null,
    }
    keep(this.lines, line, most.lines)
    if (request !== undefined) keep(request.lines, line, most.lines)
  }

  /** The secrets that the request has brought in which this is called. */
  seen(): Seen {
    const place = this.#place.getStore()
    if (place === undefined) return this.redactor.recent
    this.#learn(place)
    return place.seen
  }

  /** What the body has of secrets, once it is read. */
  #learn({ asked, request: recorded, seen, known }: Place): void {
    const { body } = asked
    if (body === known.body) return
    known.body = body
    const { redactor } = this
    recorded.body = redactor.value(body, seen)
    // A handler may parse it by itself.
    if (ArrayBuffer.isView(body) && body.byteLength < mostParsed)
      redactor.text(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(), seen)
    redactor.remember(seen)
  }

  forget(): void {
    this.requests.length = 0
    this.lines.length = 0
    this.redactor.recent.clear()
  }

  /** Work inside runs in the place that `open` makes. */
  private readonly begin = (name: string, open: (work: never) => Place | undefined): void => {
    const start = channel(`tracing:${name}:start`)
    start.bindStore(this.#place, (work) => open(work as never))
    this.#ends.push(() => {
      start.unbindStore(this.#place)
    })
  }

  #onEnd(name: string, listener: (event: unknown) => void): void {
    subscribe(name, listener)
    this.#ends.push(() => {
      unsubscribe(name, listener)
    })
  }

  #beginRequest(event: RequestEvent): Place | undefined {
    const { request, application } = event
    if (!this.watched.has(application)) return undefined
    const { redactor } = this
    const seen: Seen = new Set()
    const headers = redactor.headers(request.headers, seen)
    const recorded: RecordedRequest = {
      ...{ number: ++this.#number, time: Date.now(), method: request.method },
      ...{ url: redactor.url(request.url, undefined, seen), route: null, handler: null, status: 0 },
      ...{ ms: null, bytes: 0, headers, body: undefined, caller: null },
      ...{ steps: [], lines: [], fault: null },
    }
    keep(this.requests, recorded, most.requests)
    const place: Place = {
      ...{ request: recorded, asked: request, seen, known: { body: undefined } },
      ...{ steps: recorded.steps, began: performance.now(), count: [0] },
    }
    this.#places.set(event, place)
    return place
  }

  #endRequest(event: RequestEvent): void {
    const place = this.#places.get(event)
    if (place === undefined) return
    const { redactor } = this
    const { request: recorded, seen } = place
    const { request, status, ms, bytes, error } = event
    this.#learn(place)
    recorded.status = status
    recorded.ms = round(ms)
    recorded.bytes = bytes
    recorded.route = request.route === undefined ? null : request.route.path
    recorded.handler = request.route?.name ?? null
    recorded.url = redactor.url(request.url, request.route?.path, seen)
    const { sub } = request.user ?? {}
    recorded.caller =
      request.auth?.by === 'key' ? 'key' : sub === undefined ? null : redactor.text(sub, seen)
    const show = (text: string): string => redactor.text(text, seen)
    recorded.fault = status >= 500 && error !== undefined ? findFault(error, show) : null
    this.#listeners.request?.(recorded)
  }

  #tellRun({ application, id, job, attempt, outcome = 'lost', ms, error }: JobEvent): void {
    if (!this.watched.has(application)) return
    const text = error instanceof Error ? (error.stack ?? error.message) : error
    this.#listeners.job?.({
      ...{ id, name: job, attempt, outcome, ms: round(ms) },
      error: text === undefined ? null : this.redactor.text(text as string, this.redactor.recent),
    })
  }

  #beginStatement(event: StatementEvent): Place | undefined {
    const { sql, kind } = event
    const isWritten = kind === 'UNKNOWN' || kind === 'SCRIPT'
    const shown = this.redactor.sql(sql, isWritten, this.seen())
    const place = this.#beginStep(event, 'statement', shown, { isQuestion: isQuestion(event) })
    const step = this.#steps.get(event)
    if (step !== undefined) sent.set(step, sql)
    return place
  }

  #beginStep(
    work: object,
    kind: RecordedStep['kind'],
    name: string,
    more: { readonly cost?: number; readonly isQuestion?: boolean } = {},
  ): Place | undefined {
    const place = this.#place.getStore()
    // Work outside of requests, or of one that sends statements without end.
    if (place === undefined || (place.count[0] ?? 0) >= most.steps) return place
    place.count[0] = (place.count[0] ?? 0) + 1
    const at = round(performance.now() - place.began)
    const { cost, isQuestion = false } = more
    const step: RecordedStep = {
      ...{ kind, name, isQuestion, at, ms: null, failed: false, cost, steps: [] },
    }
    place.steps.push(step)
    this.#steps.set(work, step)
    return { ...place, steps: step.steps }
  }

  #endStep(work: WatchedWork & { failed?: boolean }): void {
    const step = this.#steps.get(work)
    if (step === undefined) return
    step.ms = round(work.ms)
    step.failed = work.error !== undefined || work.failed === true
  }
}

/** Where work goes on. */
interface Place {
  readonly request: RecordedRequest
  readonly asked: HttpRequest
  /** Secrets that came with it. */
  readonly seen: Seen
  /** The body whose secrets are known. */
  readonly known: { body: unknown }
  readonly steps: RecordedStep[]
  readonly began: number
  /** Steps of the request; shared by its places. */
  readonly count: number[]
}

function keep<T>(list: T[], entry: T, most: number): void {
  list.push(entry)
  if (list.length > most) list.shift()
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}
