/**
 * Publishes request events if somebody listens: at the head, and when the answer is complete or the client has left.
 */
import { requestEvents, type RequestEvent } from '../http/request-events.js'
import type { ServerRequest } from '../http/server-request.js'

/** The status of an answer whose client had left; it is never sent. */
const clientLeft = 499

/** @param take answers the request */
export function observeRequest(
  request: ServerRequest,
  application: object,
  take: (request: ServerRequest) => void,
): void {
  const { outgoing } = request
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
  outgoing.on('close', () => {
    const status = outgoing.headersSent ? (outgoing.statusCode ?? 0) : 0
    event.aborted = !outgoing.writableFinished
    event.status = status === 0 ? clientLeft : status
    event.bytes = request.sentBytes
    event.received = receivedBytes(request, status)
    event.error = request.failure
    requestEvents.finish(event, began)
  })
  requestEvents.begin(event, () => {
    take(request)
  })
}

/** The answer may be complete before Node reports the end of the request. */
function receivedBytes({ incoming, bodyRead }: ServerRequest, status: number): number {
  const { complete } = incoming as { complete?: boolean }
  if (complete === false && !(bodyRead && status < 400)) return 0
  const announced = Number(incoming.headers['content-length'] ?? 0)
  return announced > 0 ? announced : 0
}
