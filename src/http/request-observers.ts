/**
 * Observation of requests: observers, such as metrics and the access log, and the diagnostics channels
 * `filigree:request`, `filigree:gate` and `filigree:handler`. See docs/monitoring.md.
 */

import type { HttpRequest } from './request.js'
import type { ServerRequest } from './server-request.js'
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'

/** The outcome of a request. */
export interface RequestOutcome {
  /** The status of the response; 499 if the client disconnected before. */
  readonly status: number
  /** Bytes of the response body. */
  readonly bytes: number
  /** Bytes of the request body as announced; 0 if they did not arrive. */
  readonly received: number
  /** Milliseconds from the head to the last byte of the response. */
  readonly ms: number
  /** Whether the client disconnected before the response was complete. */
  readonly aborted: boolean
}

/** Must not throw. */
export interface RequestObserver {
  /** Called before any processing. */
  begins?(request: HttpRequest): void
  /** Called when its response has ended. @param outcome changes with the next request, so copy what you need */
  ends(request: HttpRequest, outcome: RequestOutcome): void
}

/** The status in metrics and logs for a client that has disconnected. It is never sent. */
const clientLeft = 499

/**
 * Notifies observers when a request begins and ends. No object is created for a request: one object describes all
 * outcomes in turn, and is valid only during the call.
 */
export class RequestObservers {
  /** A property instead of a getter, because every request reads it. */
  hasObservers = false
  #all: readonly RequestObserver[] = []
  readonly #reportEnd: (this: TrackedOutgoing) => void
  readonly #outcome = { status: 0, bytes: 0, received: 0, ms: 0, aborted: false }

  constructor() {
    const end = (request: ServerRequest): void => {
      this.#end(request)
    }
    this.#reportEnd = function () {
      if (this[watched] !== undefined) end(this[watched])
    }
  }

  /** @returns a function that removes the observer */
  add(observer: RequestObserver): () => void {
    this.#setAll([...this.#all, observer])
    return () => {
      this.#setAll(this.#all.filter((one) => one !== observer))
    }
  }

  begin(request: ServerRequest): void {
    request.response.startTime = performance.now()
    const outgoing = request.outgoing as TrackedOutgoing
    outgoing[watched] = request
    // This event occurs once, and the listener is the same for all.
    outgoing.on('close', this.#reportEnd)
    for (const observer of this.#all) observer.begins?.(request)
  }

  #end(request: ServerRequest): void {
    const outcome = this.#outcome
    readOutcome(request, outcome)
    outcome.ms = performance.now() - request.response.startTime
    for (const observer of this.#all) observer.ends(request, outcome)
  }

  #setAll(observers: readonly RequestObserver[]): void {
    this.#all = observers
    this.hasObservers = observers.length > 0
  }
}

/** Reads the outcome of a request whose response is closed. */
function readOutcome(
  request: ServerRequest,
  into: { status: number; bytes: number; received: number; aborted: boolean },
): void {
  const { outgoing } = request
  const status = outgoing.headersSent ? (outgoing.statusCode ?? 0) : 0
  into.aborted = !outgoing.writableFinished
  into.status = status === 0 ? clientLeft : status
  into.bytes = request.response.sentBytes
  into.received = receivedBytes(request, status)
}

/** The response may be complete before Node reports the end of the request. */
function receivedBytes({ incoming, receivedBody }: ServerRequest, status: number): number {
  const { complete } = incoming as { complete?: boolean }
  if (complete === false && !(receivedBody !== undefined && status < 400)) return 0
  const length = incoming.headers['content-length']
  if (length === undefined) return 0
  const announced = Number(length)
  return announced > 0 ? announced : 0
}

const watched = Symbol('request')
type TrackedOutgoing = ServerRequest['outgoing'] & { [watched]?: ServerRequest }

/** A request, from its head to the last byte of its response. */
export interface RequestEvent extends WatchedWork {
  readonly request: HttpRequest
  /** The application's `ApplicationState`: one process may have several. */
  readonly application: object
  /** The status of the response; 499 if the client disconnected before, 0 until there is one. */
  status: number
  /** Bytes of the response body. */
  bytes: number
  /** Bytes of the request body as announced; 0 if they did not arrive. */
  received: number
  /** Whether the client disconnected before the response was complete. */
  aborted: boolean
}

/** The gate has checked a request. `error` is its rejection. */
export interface GateEvent extends WatchedWork {
  readonly request: HttpRequest
}

/** A handler was called. */
export interface HandlerEvent extends WatchedWork {
  readonly request: HttpRequest
  /** `ItemController.show`. */
  readonly name: string
}

export const requestEvents = new WorkChannel<RequestEvent>('filigree:request')
export const gateEvents = new WorkChannel<GateEvent>('filigree:gate')
export const handlerEvents = new WorkChannel<HandlerEvent>('filigree:handler')

/**
 * Publishes a request on `filigree:request`: its beginning now, its end when the response is complete or the client has
 * disconnected.
 *
 * @param run processes the request
 */
export function publishRequest(
  request: ServerRequest,
  application: object,
  run: (request: ServerRequest) => void,
): void {
  const startTime = performance.now()
  const event: RequestEvent = {
    request,
    application,
    status: 0,
    bytes: 0,
    received: 0,
    aborted: false,
    ms: 0,
    error: undefined,
  }
  // This event occurs once.
  request.outgoing.on('close', () => {
    readOutcome(request, event)
    event.error = request.response.failure
    requestEvents.finish(event, startTime)
  })
  requestEvents.begin(event, () => {
    run(request)
  })
}
