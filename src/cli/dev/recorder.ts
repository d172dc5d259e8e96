/**
 * Records what requests do: their steps with times, statements nested in the step that sent them, what they logged and
 * what went wrong. Listens to the framework's events, and only in the process of `filigree dev`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { WatchedWork } from '../../core/watched.js'
import type { GraphqlEvent } from '../../graphql/operation-events.js'
import type { HandlerEvent, RequestEvent } from '../../http/request-events.js'
import type { StatementEvent } from '../../records/statement-events.js'
import { isQuestion } from '../plan-statement.js'
import { findFault, type Fault } from './fault.js'
import { redactHeaders, redactUrl, redactValue } from './redact.js'

/** A step of a request. */
export interface RecordedStep {
  readonly kind: 'gate' | 'handler' | 'graphql' | 'statement'
  /** `ItemController.show`, `query Items`, the SQL. */
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
  readonly url: string
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

/** Kept of each. */
const most = { requests: 200, lines: 500, steps: 2000 }

export class Recorder {
  readonly requests: RecordedRequest[] = []
  readonly lines: RecordedLine[] = []
  /** The `ApplicationState` of each application that is watched. */
  readonly watched = new WeakSet()
  /** Called when a request is over. */
  readonly #onRequest: ((request: RecordedRequest) => void) | undefined
  readonly #place = new AsyncLocalStorage<Place>()
  readonly #steps = new WeakMap<object, RecordedStep>()
  readonly #places = new WeakMap<object, Place>()
  readonly #ends: (() => void)[] = []
  #number = 0

  constructor(onRequest?: (request: RecordedRequest) => void) {
    this.#onRequest = onRequest
    const { begin } = this
    begin('filigree:request', (event: RequestEvent) => this.#beginRequest(event))
    begin('filigree:gate', (event: HandlerEvent) => this.#beginStep(event, 'gate', 'gate'))
    begin('filigree:handler', (event: HandlerEvent) =>
      this.#beginStep(event, 'handler', event.name),
    )
    begin('filigree:graphql', (event: GraphqlEvent) =>
      this.#beginStep(event, 'graphql', `${event.type} ${event.name ?? ''}`.trim(), {
        cost: event.cost,
      }),
    )
    begin('filigree:statement', (event: StatementEvent) =>
      this.#beginStep(event, 'statement', event.sql, { isQuestion: isQuestion(event) }),
    )
    this.#onEnd('filigree:request', (event) => {
      this.#endRequest(event as RequestEvent)
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
  note(level: string, message: string, details: object): void {
    const request = this.#place.getStore()?.request
    const line: RecordedLine = {
      ...{ time: Date.now(), level, message, details: redactValue(details) },
      request: request?.number ?? null,
    }
    keep(this.lines, line, most.lines)
    if (request !== undefined) keep(request.lines, line, most.lines)
  }

  forget(): void {
    this.requests.length = 0
    this.lines.length = 0
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
    const recorded: RecordedRequest = {
      ...{ number: ++this.#number, time: Date.now(), method: request.method },
      ...{ url: redactUrl(request.url), route: null, handler: null, status: 0, ms: null, bytes: 0 },
      ...{ headers: redactHeaders(request.headers), body: undefined, caller: null },
      ...{ steps: [], lines: [], fault: null },
    }
    keep(this.requests, recorded, most.requests)
    const place = { request: recorded, steps: recorded.steps, began: performance.now(), count: [0] }
    this.#places.set(event, place)
    return place
  }

  #endRequest(event: RequestEvent): void {
    const recorded = this.#places.get(event)?.request
    if (recorded === undefined) return
    const { request, status, ms, bytes, error } = event
    recorded.status = status
    recorded.ms = round(ms)
    recorded.bytes = bytes
    recorded.route = request.route === undefined ? null : request.route.path
    recorded.handler = request.route?.name ?? null
    recorded.body = redactValue(request.body)
    recorded.caller = request.auth?.by === 'key' ? 'key' : (request.user?.sub ?? null)
    recorded.fault = status >= 500 && error !== undefined ? findFault(error) : null
    this.#onRequest?.(recorded)
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
