import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'
import type { HttpRequest } from './request.js'
import { readOutcome } from './request-observers.js'
import type { ServerRequest } from './server-request.js'

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
    event.error = request.failure
    requestEvents.finish(event, startTime)
  })
  requestEvents.begin(event, () => {
    run(request)
  })
}
