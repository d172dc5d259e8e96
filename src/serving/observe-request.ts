/**
 * Publishes request events if somebody listens: at the head, and when the answer is complete or the client has left.
 */
import { requestEvents, type RequestEvent } from '../http/request-events.js'
import { readOutcome } from '../http/request-observers.js'
import type { ServerRequest } from '../http/server-request.js'

/** @param take answers the request */
export function observeRequest(
  request: ServerRequest,
  application: object,
  take: (request: ServerRequest) => void,
): void {
  const began = performance.now()
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
    requestEvents.finish(event, began)
  })
  requestEvents.begin(event, () => {
    take(request)
  })
}
