/** The abort signal of a request. Source: specification, Request object. */
import type { End, Ending } from './ending.js'
import type { Outgoing } from './node-messages.js'
import { closingRefusal, timeoutRefusal } from './refusals.js'

/**
 * Aborts when the client disconnects before the response is complete, or when the application closes.
 *
 * @param isTimedOut the signal may be read after the time-out
 */
export function createAbort(
  outgoing: Outgoing,
  isTimedOut: boolean,
  ending: Ending | undefined,
): AbortController {
  const abort = new AbortController()
  if (isTimedOut) {
    abort.abort(timeoutRefusal())
    return abort
  }
  if (outgoing.destroyed) {
    if (!outgoing.writableFinished) abort.abort()
    return abort
  }
  const end: End = (all) => {
    if (!all && !outgoing.headersSent) return
    ending?.delete(end)
    abort.abort(closingRefusal())
  }
  outgoing.once('close', () => {
    ending?.delete(end)
    if (!outgoing.writableFinished) abort.abort()
  })
  ending?.add(end)
  return abort
}
