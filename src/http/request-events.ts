/** The messages of `filigree:request`, `filigree:gate` and `filigree:handler`. See docs/monitoring.md. */
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'
import type { HttpRequest } from './request.js'

/** A request, from its head to the last byte of its answer. */
export interface RequestEvent extends WatchedWork {
  readonly request: HttpRequest
  /** The application's `ApplicationState`: one process may have several. */
  readonly application: object
  /** The answer's status; 499 where the client left before there was one, 0 before. */
  status: number
  /** Bytes of the answer's body. */
  bytes: number
  /** Bytes of the request's body, as it announced them; 0 where they did not come. */
  received: number
  /** The client left before the answer was complete. */
  aborted: boolean
}

/** The gate was asked about a request. Its `error` is the refusal. */
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
