import { canFlow } from '../http/chunk-reader.js'
import { bodyOf, discard } from '../http/discard.js'
import { EventStream } from '../http/events.js'
import type { ServerRequest } from '../http/server-request.js'

/** Remembers a stream in a result, because an interceptor may replace it. Does nothing if there is none. */
export function keepFlow(request: ServerRequest, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const body = bodyOf(value)
  if (typeof body !== 'object' || body === null) return
  if (!(body instanceof EventStream) && !canFlow(body)) return
  if (request.answered) {
    discard(body)
    return
  }
  request.flows ??= []
  if (!request.flows.includes(body)) request.flows.push(body)
}

/**
 * Closes the remembered streams, except the one that was sent. Call it after the response was sent, because the
 * response may read from them, for example to compress one.
 */
export function letGo(request: ServerRequest, sent: unknown): void {
  const current = bodyOf(sent)
  for (const flow of request.flows ?? []) {
    if (flow === current) continue
    if (request.outgoing.destroyed || request.outgoing.writableFinished) discard(flow)
    else {
      request.onFinished(() => {
        discard(flow)
      })
    }
  }
  request.flows = undefined
}
