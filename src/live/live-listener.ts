/** A listener of a live query. It stores messages, up to a limit, until its client has room for them. */
import type { EventSink, EventSource } from '../http/event-source.js'
import type { Claims } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import type { EventFormat, LiveFormat, LiveMessage } from './live-format.js'

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
}

/** Maximum bytes of unread messages per listener. */
export const maxUnreadBytes = 1024 * 1024

/** Where a listener belongs. */
interface ListenerOwner {
  /** Called once, when the listener ends. */
  removeListener(listener: LiveListener): void
}

const noMessages: readonly LiveMessage[] = Object.freeze([])

/** Ten thousand of them may be open, so each holds little, and what is equal for many is shared. */
export class LiveListener implements EventSource {
  readonly caller: LiveCaller
  /** Ends the watch of the caller's token. */
  unwatch: (() => void) | undefined
  readonly #owner: ListenerOwner
  readonly #form: LiveFormat
  readonly #events: EventFormat
  /** Undefined before the response begins. */
  #sink: EventSink | undefined
  /** Listens for the end of the connection until the response begins. */
  #leave: (() => void) | undefined
  #unread = noMessages
  #bytes = 0
  #isClosed = false
  #isOver = false

  constructor(
    caller: LiveCaller,
    { form, events }: { readonly form: LiveFormat; readonly events: EventFormat },
    owner: ListenerOwner,
  ) {
    this.caller = caller
    this.#form = form
    this.#events = events
    this.#owner = owner
    // The connection may also close before the response begins.
    this.#leave = () => {
      this.cancel()
    }
    caller.request?.outgoing.on('close', this.#leave)
  }

  /** True if the listener has ended, so that running the query for it is pointless. */
  get isOver(): boolean {
    return this.#isOver
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
    if (this.#sink?.hasRoom === true && this.#unread.length === 0) {
      this.#write(this.#sink, message)
      return
    }
    this.#unread = [...this.#unread, message]
    this.#bytes += message.text.length
    // A single message may exceed the limit: a client that reads without delay still gets it.
    if (this.#bytes <= maxUnreadBytes || this.#unread.length === 1) return
    this.cancel()
    this.caller.request?.outgoing.destroy()
  }

  /** Sends the reason for closing, then ends the listener. */
  close(status: number): void {
    this.send({ kind: 'closed', status, text: this.#form.closed(status) })
    this.end()
  }

  /** Ends the listener. Stored messages are still sent. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopWaiting()
    this.unwatch?.()
    this.unwatch = undefined
    this.#owner.removeListener(this)
    this.#endStream()
  }

  /** The response begins. */
  start(sink: EventSink): void {
    this.#sink = sink
    this.#stopWaiting()
    this.resume()
  }

  resume(): void {
    const sink = this.#sink
    if (sink === undefined) return
    let sent = 0
    for (const message of this.#unread) {
      if (!sink.hasRoom) break
      this.#bytes -= message.text.length
      this.#write(sink, message)
      sent++
    }
    this.#unread = sent === this.#unread.length ? noMessages : this.#unread.slice(sent)
    this.#endStream()
  }

  /** The client has left, or its stream has ended. */
  cancel(): void {
    this.#unread = noMessages
    this.#isClosed = true
    this.end()
  }

  #write(sink: EventSink, message: LiveMessage): void {
    this.#isClosed = message.kind === 'closed'
    for (const event of this.#events.toItems(message)) sink.write(event.bytes)
  }

  /** Ends the response after the last message. */
  #endStream(): void {
    if (!this.#isOver || this.#sink === undefined || this.#unread.length > 0) return
    const sink = this.#sink
    this.#sink = undefined
    if (!this.#isClosed) for (const event of this.#events.last) sink.write(event.bytes)
    sink.end()
  }

  #stopWaiting(): void {
    if (this.#leave === undefined) return
    this.caller.request?.outgoing.off('close', this.#leave)
    this.#leave = undefined
  }
}
