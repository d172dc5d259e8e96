/** Calls that take long: cancellation by clients of older revisions, and responses that become streams of events. */
import type { HttpRequest, EventItem } from '../../index.js'
import { idOf, type Message, type MessageId, type ProtocolResponse } from './protocol.js'

/** The header of the session id that `initialize` returns. */
export const sessionHeader = 'Mcp-Session-Id'

/** A call that a client can cancel. */
export interface CancellableCall {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal
  readonly end: () => void
}

/**
 * Running calls of clients that cancel with `notifications/cancelled`. A client identifies itself by the random session id that
 * `initialize` returned; the server stores nothing for it. Calls of other processes cannot be cancelled.
 */
export class CancellableCalls {
  readonly #calls = new Map<string, AbortController>()

  /** @returns undefined for a client without a session id, which cannot cancel */
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

/** The token is part of the key, so a session id alone does not allow to cancel a call. */
function keyOf(id: MessageId, { incoming }: HttpRequest): string | undefined {
  const { [sessionHeader.toLowerCase()]: sessionId, authorization = '' } = incoming.headers
  return typeof sessionId === 'string' ? JSON.stringify([sessionId, authorization, id]) : undefined
}

/** Seconds after which a call becomes a stream, whose heartbeats keep the connection open. */
const longCallSeconds = 5

/**
 * Calls that may take long, the oldest first. One timer serves all of them, because a timer for each call would cost more.
 */
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
    for (const [isLong, startedAt] of this.#calls) {
      if (this.#seconds - startedAt <= longCallSeconds) return
      this.#calls.delete(isLong)
      isLong()
    }
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}

const longCalls = new LongCalls()

/** The largest number of unsent messages for a client that does not read. */
const maxUnread = 100

/** Messages that are sent before the response of a call. The first one turns the response into a stream. */
export class MessageStream {
  #messages: string[] = []
  #wake: (() => void) | undefined

  /** Sends a message before the response. For a client that does not read, only the latest messages are stored. */
  send(text: string): void {
    if (this.#messages.length >= maxUnread) this.#messages.shift()
    this.#messages.push(text)
    this.#wake?.()
  }

  /** @returns the response; undefined if a stream must start before it */
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

  /** The messages as they are sent, and finally the response. */
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
      // Messages that were added while the previous ones were sent.
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
