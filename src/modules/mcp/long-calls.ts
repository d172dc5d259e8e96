/** An answer that may become a stream: as soon as something is said ahead of it, or when it takes long. */

import type { HttpRequest, EventItem } from '../../index.js'
import { idOf, type Message, type MessageId, type Answered } from './protocol.js'

/**
 * Calls of clients of older revisions, which cancel by a message of its own, `notifications/cancelled`. They name themselves by the label that
 * `initialize` gave them: nothing is kept for it, and a label that nobody could guess is all that makes a call one's own. A call in another
 * process is not reached.
 */

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

/** How many seconds a call may take before its answer becomes a stream, whose heartbeats keep the connection. */
const longCall = 5

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
      if (this.#seconds - began <= longCall) return
      this.#calls.delete(isLong)
      isLong()
    }
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}

const longCalls = new LongCalls()

/** How many messages wait for a client that does not read. */
const mostUnread = 100

export class Conversation {
  #said: string[] = []
  #wake: (() => void) | undefined

  /** Sends a message ahead of the answer. For a client that does not read the latest alone are kept. */
  say(text: string): void {
    if (this.#said.length >= mostUnread) this.#said.shift()
    this.#said.push(text)
    this.#wake?.()
  }

  /** @returns the answer, or undefined where a stream has to begin before it */
  first(running: Promise<Answered | undefined>): Promise<Answered | undefined> {
    if (this.#said.length > 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const begin = (): void => {
        end(undefined)
      }
      const end = (answered: Answered | undefined): void => {
        if (this.#wake !== begin) return
        longCalls.end(begin)
        this.#wake = undefined
        resolve(answered)
      }
      this.#wake = begin
      longCalls.begin(begin)
      void running.then(end)
    })
  }

  /** What is said, as it comes, and the answer at last. */
  async *items(running: Promise<Answered | undefined>): AsyncGenerator<EventItem, void, undefined> {
    const end: { isOver: boolean; answered?: Answered | undefined } = { isOver: false }
    void running.then((answered) => {
      end.answered = answered
      end.isOver = true
      this.#wake?.()
    })
    for (;;) {
      for (const data of this.#said.splice(0)) yield { data }
      // What was said while one was sent.
      if (this.#said.length > 0) continue
      if (end.isOver) break
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (end.answered !== undefined) yield { data: end.answered.text }
  }
}
