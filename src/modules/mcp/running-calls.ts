/**
 * Calls of clients of older revisions, which cancel by a message of its own, `notifications/cancelled`. They name themselves by the label that
 * `initialize` gave them: nothing is kept for it, and a label that nobody could guess is all that makes a call one's own. A call in another
 * process is not reached.
 */
import type { HttpRequest } from '../../index.js'
import { idOf, type Message, type MessageId } from './protocol.js'

/** The header of the label. */
export const label = 'Mcp-Session-Id'

/** A call that can be ended. */
export interface Running {
  /** Aborts where the client cancels. */
  readonly cancelled: AbortSignal
  readonly end: () => void
}

export class RunningCalls {
  readonly #calls = new Map<string, AbortController>()

  /** @returns undefined for a client without a label, which nobody can cancel for */
  begin(id: MessageId, request: HttpRequest): Running | undefined {
    const key = keyOf(id, request)
    if (key === undefined || this.#calls.has(key)) return undefined
    const cancel = new AbortController()
    this.#calls.set(key, cancel)
    return {
      cancelled: cancel.signal,
      end: () => {
        this.#calls.delete(key)
      },
    }
  }

  cancelled({ method, params }: Message, request: HttpRequest): void {
    if (method !== 'notifications/cancelled') return
    const id = idOf({ id: params.requestId })
    const key = id === undefined ? undefined : keyOf(id, request)
    if (key !== undefined) this.#calls.get(key)?.abort()
  }
}

/** The token belongs to it, so that a label that was seen is good for nothing. */
function keyOf(id: MessageId, { incoming }: HttpRequest): string | undefined {
  const { [label.toLowerCase()]: given, authorization = '' } = incoming.headers
  return typeof given === 'string' ? JSON.stringify([given, authorization, id]) : undefined
}
