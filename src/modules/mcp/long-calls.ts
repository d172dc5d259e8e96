/** An answer that may become a stream: as soon as something is said ahead of it, or when it takes long. */

import type { HttpRequest, EventItem } from '../../index.js'
import { idOf, type Message, type MessageId, type ProtocolResponse } from './protocol.js'

/**
 * Calls of clients of older revisions, which cancel by a message of its own, `notifications/cancelled`. They name themselves by the label that
 * `initialize` gave them: nothing is kept for it, and a label that nobody could guess is all that makes a call one's own. A call in another
 * process is not reached.
 */

/** The header of the label. */
export const sessionHeader = 'Mcp-Session-Id'

/** A call that can be ended. */
export interface CancellableCall {
  /** Aborts where the client cancels. */
  readonly signal: AbortSignal
  readonly end: () => void
}

export class CancellableCalls {
  readonly #calls = new Map<string, AbortController>()

  /** @returns undefined for a client without a label, which nobody can cancel for */
  start(id: MessageId, request: HttpRequest): CancellableCall | undefined {
    const key = keyOf(id, request)
    if (key === undefined || this.#calls.has(key)) return undefined
    const controller = new AbortController()
    this.#calls.set(key, controller)
    return {
      signal: controller.signal,
      end: () => {
        this.#calls.delete(key)
      },
    }
  }

  cancel({ method, params }: Message, request: HttpRequest): void {
    if (method !== 'notifications/cancelled') return
    const id = idOf({ id: params.requestId })
    const key = id === undefined ? undefined : keyOf(id, request)
    if (key !== undefined) this.#calls.get(key)?.abort()
  }
}

/** The token belongs to it, so that a label that was seen is good for nothing. */
function keyOf(id: MessageId, { incoming }: HttpRequest): string | undefined {
  const { [sessionHeader.toLowerCase()]: sessionId, authorization = '' } = incoming.headers
  return typeof sessionId === 'string' ? JSON.stringify([sessionId, authorization, id]) : undefined
}

/** How many seconds a call may take before its answer becomes a stream, whose heartbeats keep the connection. */
const longCallSeconds = 5

/** Calls that may become long, the oldest first: one clock for all, since a timer for each would cost more. */
class LongCalls {
  readonly #calls = new Map<() => void, number>()
  #clock: NodeJS.Timeout | undefined
  #seconds = 0

  begin(isLong: () => void): void {
    this.#calls.set(isLong, this.#seconds)
    this.#clock ??= setInterval(() => {
      this.#tick()
    }, 1000).unref()
  }

  end(isLong: () => void): void {
    this.#calls.delete(isLong)
  }

  #tick(): void {
    this.#seconds++
    for (const [isLong, began] of this.#calls) {
      if (this.#seconds - began <= longCallSeconds) return
      this.#calls.delete(isLong)
      isLong()
    }
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}

const longCalls = new LongCalls()

/** How many messages wait for a client that does not read. */
const maxUnread = 100

export class MessageStream {
  #messages: string[] = []
  #wake: (() => void) | undefined

  /** Sends a message ahead of the answer. For a client that does not read the latest alone are kept. */
  send(text: string): void {
    if (this.#messages.length >= maxUnread) this.#messages.shift()
    this.#messages.push(text)
    this.#wake?.()
  }

  /** @returns the answer, or undefined where a stream has to begin before it */
  waitForResponse(
    running: Promise<ProtocolResponse | undefined>,
  ): Promise<ProtocolResponse | undefined> {
    if (this.#messages.length > 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const begin = (): void => {
        end(undefined)
      }
      const end = (response: ProtocolResponse | undefined): void => {
        if (this.#wake !== begin) return
        longCalls.end(begin)
        this.#wake = undefined
        resolve(response)
      }
      this.#wake = begin
      longCalls.begin(begin)
      void running.then(end)
    })
  }

  /** What is said, as it comes, and the answer at last. */
  async *items(
    running: Promise<ProtocolResponse | undefined>,
  ): AsyncGenerator<EventItem, void, undefined> {
    const end: { hasEnded: boolean; response?: ProtocolResponse | undefined } = { hasEnded: false }
    void running.then((response) => {
      end.response = response
      end.hasEnded = true
      this.#wake?.()
    })
    for (;;) {
      for (const data of this.#messages.splice(0)) yield { data }
      // What was said while one was sent.
      if (this.#messages.length > 0) continue
      if (end.hasEnded) break
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (end.response !== undefined) yield { data: end.response.text }
  }
}
