/**
 * Event streams whose source sends its events itself, such as live queries. Ten thousand clients may listen and wait, so
 * nothing is stored for the next event: no promise, no generator and no timer for each client.
 */
import type { RespondingRequest } from './pending-response.js'
import type { StreamHeartbeat } from './stream-body.js'

/** Sends its events by itself. */
export interface EventSource {
  /** Begins to send. Called once. */
  start(sink: EventSink): void
  /** Called when the sink has room again. */
  resume(): void
  /** Called when the client has left, or the stream was ended. Also instead of `start`. */
  cancel(): void
}

/** Where a source sends its events to. */
export interface EventSink {
  /** False while the client does not read. */
  readonly hasRoom: boolean
  /** @param event bytes of `WrittenEvent` */
  write(event: Uint8Array): void
  /** Ends the response. */
  end(): void
}

/** Counts the streams of sources. */
export interface EventResponseOwner {
  /** Called once, when the stream has ended. */
  removeSource(response: EventResponse): void
}

/** Sends the events of a source as the body of a response. */
export class EventResponse implements EventSink {
  /** The name by which the streams of its client's address are counted. */
  readonly address: string
  readonly #request: RespondingRequest
  readonly #source: EventSource
  readonly #owner: EventResponseOwner
  #group: Set<EventResponse> | undefined
  #isStarted = false
  #isOver = false
  #isFull = false

  constructor(
    request: RespondingRequest,
    source: EventSource,
    address: string,
    owner: EventResponseOwner,
  ) {
    this.#request = request
    this.#source = source
    this.address = address
    this.#owner = owner
  }

  get hasRoom(): boolean {
    return !this.#isFull
  }

  /** The head was sent. */
  start(heartbeats: Heartbeats): void {
    this.#isStarted = true
    if (this.#isOver) {
      this.#request.outgoing.end()
      return
    }
    this.#request.outgoing.on('close', this.stop)
    flattenHead(this.#request.outgoing)
    this.#group = heartbeats.add(this)
    this.beat(heartbeats.heartbeat.text)
    this.#source.start(this)
  }

  write(event: Uint8Array): void {
    if (!this.#isOver) this.#send(event, event.length)
  }

  /** Keeps the connection open. */
  beat(text: string): void {
    if (!this.#isOver && !this.#request.outgoing.writableNeedDrain) this.#send(text, text.length)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { outgoing } = this.#request
    outgoing.off('close', this.stop)
    this.#group?.delete(this)
    this.#owner.removeSource(this)
    if (this.#isStarted && !outgoing.destroyed) outgoing.end()
  }

  /** The client has left, or the application closes. */
  readonly stop = (): void => {
    this.end()
    this.#source.cancel()
  }

  #send(chunk: string | Uint8Array, bytes: number): void {
    const { outgoing, response } = this.#request
    if (outgoing.destroyed) return
    response.sentBytes += bytes
    if (outgoing.write(chunk) || this.#isFull) return
    this.#isFull = true
    outgoing.once('drain', () => {
      this.#isFull = false
      if (!this.#isOver) this.#source.resume()
    })
  }
}

/**
 * Node keeps the head of a response until its end, as a tree of some forty parts of a string. V8 makes one string of them when
 * a character is read.
 */
function flattenHead(outgoing: object): void {
  const { _header: head } = outgoing as { readonly _header?: unknown }
  if (typeof head === 'string') head.charCodeAt(0)
}

/** Sends the heartbeats of many streams by one timer. */
export class Heartbeats {
  readonly heartbeat: StreamHeartbeat
  /** Each is sent its heartbeats in one of the ticks between two heartbeats, so that not all are in the same turn. */
  readonly #groups = Array.from({ length: ticks }, () => new Set<EventResponse>())
  #next = 0
  #timer: NodeJS.Timeout | undefined

  constructor(heartbeat: StreamHeartbeat) {
    this.heartbeat = heartbeat
  }

  /** @returns the group of the stream, from which it is removed when it is over */
  add(response: EventResponse): Set<EventResponse> | undefined {
    this.#timer ??= setInterval(this.#beat, this.heartbeat.every / ticks).unref()
    // The group whose turn was last: its next turn is one period from now.
    return this.#groups[(this.#next + ticks - 1) % ticks]?.add(response)
  }

  readonly #beat = (): void => {
    const group = this.#groups[this.#next]
    this.#next = (this.#next + 1) % ticks
    for (const response of group ?? []) response.beat(this.heartbeat.text)
    if (this.#groups.some(({ size }) => size > 0)) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const ticks = 15
