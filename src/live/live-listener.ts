/** A listener of a live query. It buffers messages, up to a limit, until they are read. */
import type { Claims } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'

/** The caller who opens a live query. */
export interface LiveCaller {
  /** Claims of the verified token; undefined or null for anonymous callers and for the operator's key. */
  readonly claims: Claims | null | undefined
  /** True for the operator's static key. */
  readonly byKey: boolean
  /** The request that opened the live query; undefined if the program itself opened it. */
  readonly request: ServerRequest | undefined
  /** Further context that the interface needs to run the query. */
  readonly context?: unknown
  /** The last message that the client received: `life:version`. */
  readonly lastId: string | undefined
  /** Called if the client does not read. Closes its connection. */
  readonly abandon: () => void
}

export type LiveMessage =
  | { readonly kind: 'data'; readonly id: string; readonly text: string }
  | { readonly kind: 'closed'; readonly status: number; readonly text: string }

/** Maximum bytes of unread messages per listener. */
export const maxUnreadBytes = 1024 * 1024

export class LiveListener implements AsyncIterableIterator<LiveMessage> {
  readonly caller: LiveCaller
  /** Writes the reason why the listener ends. The live query sets it. */
  closing: (status: number) => string = (status) => JSON.stringify({ status })
  #unread: LiveMessage[] = []
  #bytes = 0
  #waiting: ((result: IteratorResult<LiveMessage>) => void)[] = []
  #isOver = false
  readonly #ends: (() => void)[] = []

  /** @param onClosed called once, when the listener ends */
  constructor(caller: LiveCaller, onClosed: (listener: LiveListener) => void) {
    this.caller = caller
    this.onEnd(() => {
      onClosed(this)
    })
    const { request } = caller
    if (request === undefined) return
    const end = (): void => {
      this.end()
    }
    // The connection may also close before the response begins.
    request.outgoing.once('close', end)
    this.onEnd(() => {
      request.outgoing.off('close', end)
    })
  }

  /** True if the listener has ended, so that running the query for it is pointless. */
  get isOver(): boolean {
    return this.#isOver
  }

  onEnd(work: (() => void) | undefined): void {
    if (work === undefined) return
    if (this.#isOver) work()
    else this.#ends.push(work)
  }

  /**
   * Closes the listener if its token has expired (401) or its sign-in is too old for the route (403).
   *
   * @param now milliseconds since 1970
   * @returns true if the listener was closed
   */
  closeIfOver(now: number): boolean {
    const { claims, request } = this.caller
    const exp = claims?.exp
    if (typeof exp === 'number' && exp * 1000 <= now) this.close(401)
    else if (request !== undefined && request.caller.until <= now) this.close(403)
    else return false
    return true
  }

  send(message: LiveMessage): void {
    if (this.#isOver) return
    const reader = this.#waiting.shift()
    if (reader !== undefined) {
      reader({ value: message, done: false })
      return
    }
    this.#unread.push(message)
    this.#bytes += message.text.length
    // A single message may exceed the limit: a client that reads without delay still gets it.
    if (this.#bytes <= maxUnreadBytes || this.#unread.length === 1) return
    this.#unread = []
    this.end()
    this.caller.abandon()
  }

  /** Sends the reason for closing, then ends the listener. */
  close(status: number): void {
    this.send({ kind: 'closed', status, text: this.closing(status) })
    this.end()
  }

  /** Ends the listener. Buffered messages can still be read. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const work of this.#ends.splice(0)) work()
    for (const reader of this.#waiting.splice(0)) reader({ value: undefined, done: true })
  }

  next(): Promise<IteratorResult<LiveMessage>> {
    const value = this.#unread.shift()
    if (value !== undefined) {
      this.#bytes -= value.text.length
      return Promise.resolve({ value, done: false })
    }
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  return(): Promise<IteratorResult<LiveMessage>> {
    this.#unread = []
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
