/**
 * A response that becomes a web-standard one. A complete body is handed over as it is: text or bytes. Other bodies are
 * streams with back-pressure. Source: Fetch standard; Streams standard.
 */
import type { EventEmitter } from 'node:events'
import type { Outgoing } from '../node-messages.js'
import { isBodyless } from '../response-head.js'
import { LazyEmitter } from './lazy-emitter.js'
import type { WebIncoming } from './web-request.js'

/** What a response of the web standard accepts. Node's types have no name for it. */
type WebBody = ConstructorParameters<typeof Response>[0]

export interface WebResponseOptions {
  /** Whether the server writes `Content-Length` itself, for bodies that are complete. */
  readonly writesLength: boolean
  /** Whether the server handles the headers of the connection. Otherwise they are left out. */
  readonly handlesConnection: boolean
  /** The error of a body that is cut off. */
  readonly toError: (message: string) => Error | undefined
  /**
   * Whether the signal of a request is read to find out if its client has disconnected, while nobody waits for that. Deno
   * warns of each program that reads one.
   */
  readonly asksClient: boolean
  /** Milliseconds within which a client must read some bytes of a stream. */
  readonly stall: number
}

/** Bytes that a stream may write before somebody reads them. */
const highWaterMark = 64 * 1024

/** A complete body with more bytes than this may not fit the buffers of a connection. */
const longBody = 64 * 1024

const connectionHeaders = /^(?:connection|transfer-encoding)$/i
const [lengthHeader, typeHeader] = ['Content-Length', 'Content-Type'] as const

/** How the responses of a server are made. */
export class WebResponseForm {
  readonly options: WebResponseOptions
  /** Whether the last headers have a `Content-Type`. */
  isTyped = false
  #lastFlat: readonly string[] = []
  #lastHeaders = new Headers()

  constructor(options: WebResponseOptions) {
    this.options = options
  }

  /**
   * The headers of a complete body. Nearly all responses of an application have the same ones, except their length, and
   * a response copies them faster than it makes them.
   */
  headersOf(flat: readonly string[]): Headers {
    if (this.#isLast(flat)) return this.#lastHeaders
    const headers = this.toHeaders(flat, !this.options.writesLength)
    this.#lastHeaders = headers
    this.#lastFlat = flat
    this.isTyped = headers.has(typeHeader)
    return headers
  }

  toHeaders(flat: readonly string[], withLength: boolean): Headers {
    const { handlesConnection } = this.options
    const headers = new Headers()
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const [name = '', value = ''] = [flat[index], flat[index + 1]]
      if (name === lengthHeader && !withLength) continue
      if (handlesConnection || !connectionHeaders.test(name)) headers.append(name, value)
    }
    return headers
  }

  #isLast(flat: readonly string[]): boolean {
    const last = this.#lastFlat
    if (last.length !== flat.length) return false
    for (let index = 0; index < flat.length; index += 2) {
      const name = flat[index]
      if (name !== last[index]) return false
      if (flat[index + 1] === last[index + 1]) continue
      if (name !== lengthHeader || !this.options.writesLength) return false
    }
    return true
  }
}

/** Responses of `app.handle`. */
export const handledForm = new WebResponseForm({
  writesLength: false,
  handlesConnection: false,
  toError: (message) => new Error(message),
  asksClient: true,
  stall: Infinity,
})

export class WebOutgoing extends LazyEmitter implements Outgoing {
  statusCode = 200
  writableEnded = false
  writableFinished = false
  writableNeedDrain = false
  readonly #request: Request
  readonly #incoming: WebIncoming
  readonly #form: WebResponseForm
  #flat: readonly string[] = []
  #headers: Headers | undefined
  #response: Response | undefined
  #isDestroyed = false
  /** Whether the response comes later than in the turn of its request. */
  #isPending = false
  /** Whether somebody waits for the end of the response. */
  #isWatched = false
  #followsClient = false
  /** Whether the signal of the request is read to find out if its client has disconnected. */
  #asksClient = false
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined
  #stallTimer: NodeJS.Timeout | undefined
  #length = 0
  #failure: Error | undefined
  #begun: ((error: Error | undefined) => void) | undefined

  constructor(request: Request, incoming: WebIncoming, form: WebResponseForm) {
    super()
    this.#request = request
    this.#incoming = incoming
    this.#form = form
  }

  get headersSent(): boolean {
    return this.#headers !== undefined
  }

  /** Whether the response is over, or its client has disconnected. */
  get destroyed(): boolean {
    if (this.#asksClient && !this.#isDestroyed && this.#hasLeft()) this.destroy()
    return this.#isDestroyed
  }

  /** Whether the body is written piece by piece. */
  get isStream(): boolean {
    return this.#stream !== undefined
  }

  /** Whether a client may need some time to read the body. */
  get isLong(): boolean {
    return this.#length > longBody
  }

  /** The response, once it has begun. */
  get response(): Response | undefined {
    return this.#response
  }

  /**
   * Calls `begun` once the response has begun, or is cut off before. Until this is called, the response is expected in the
   * same turn of the event loop, in which no client can disconnect.
   *
   * @param begun receives the error of a response that was cut off
   */
  onBegin(begun: (error: Error | undefined) => void): void {
    this.#isPending = true
    if (this.#isWatched) this.followClient()
    this.#asksClient = this.#form.options.asksClient && !this.#followsClient
    if (this.#response !== undefined || this.#isDestroyed) begun(this.#failure)
    else this.#begun = begun
  }

  override on(...[event, listener]: Parameters<EventEmitter['on']>): this {
    super.on(event, listener)
    if (event === 'close') this.#watch()
    return this
  }

  override once(...[event, listener]: Parameters<EventEmitter['on']>): this {
    super.once(event, listener)
    if (event === 'close') this.#watch()
    return this
  }

  /** No client disconnects before the turn ends in which its request came. */
  #watch(): void {
    this.#isWatched = true
    if (this.#isPending) this.followClient()
  }

  /** Ends the response when its client disconnects. */
  followClient(): void {
    if (this.#followsClient || this.#isDestroyed) return
    this.#followsClient = true
    this.#asksClient = false
    const { signal } = this.#request
    if (signal.aborted) this.destroy()
    else signal.addEventListener('abort', () => this.destroy(), { once: true })
  }

  writeHead(status: number, headers: string[]): this {
    if (this.#headers !== undefined) throw new Error('The head was sent already.')
    this.#headers = this.#form.headersOf(headers)
    this.#flat = headers
    this.statusCode = status
    return this
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.writableEnded || this.destroyed) return false
    const stream = (this.#stream ??= this.#beginStream())
    if (chunk.length > 0) stream.enqueue(toBytes(chunk))
    this.writableNeedDrain = (stream.desiredSize ?? 0) <= 0
    if (this.writableNeedDrain) this.#startStallTimer()
    return !this.writableNeedDrain
  }

  end(chunk?: string | Uint8Array): this {
    if (this.writableEnded || this.#isDestroyed) return this
    if (this.#stream === undefined) this.#begin(this.#toBody(chunk), this.#completeHeaders())
    else if (chunk !== undefined && chunk.length > 0) this.write(chunk)
    this.writableEnded = true
    if (!this.writableNeedDrain) this.#finish()
    return this
  }

  destroy(): this {
    if (this.#isDestroyed) return this
    this.#isDestroyed = true
    clearTimeout(this.#stallTimer)
    if (!this.writableFinished) this.#cutOff()
    queueMicrotask(() => this.emit('close'))
    return this
  }

  /**
   * Reading the signal makes one, which costs a request with a body a seventh of its time on Bun. A client whose body has
   * just arrived is there.
   */
  #hasLeft(): boolean {
    return this.#incoming.arrivalTime !== Date.now() && this.#request.signal.aborted
  }

  get #isHead(): boolean {
    return this.#incoming.method === 'HEAD'
  }

  #completeHeaders(): Headers | undefined {
    // A server could not count the length of a body that it does not get.
    return this.#isHead ? this.#form.toHeaders(this.#flat, true) : this.#headers
  }

  #begin(body: WebBody, headers: Headers | undefined): void {
    this.#response = new Response(body, headers && { status: this.statusCode, headers })
    this.#begun?.(undefined)
  }

  #toBody(chunk: string | Uint8Array = ''): WebBody {
    this.#length = chunk.length
    if (chunk.length === 0 || this.#hasNoBody) return null
    // The standard gives a text without a type one.
    const isTyped = typeof chunk !== 'string' || this.#form.isTyped
    return (isTyped ? chunk : Buffer.from(chunk)) as WebBody
  }

  get #hasNoBody(): boolean {
    return this.#isHead || isBodyless(this.statusCode)
  }

  #beginStream(): ReadableStreamDefaultController<Uint8Array> {
    let stream: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          stream = controller
        },
        pull: () => {
          this.#makeRoom()
        },
        cancel: () => {
          this.#stream = undefined
          this.destroy()
        },
      },
      { highWaterMark, size: ({ byteLength }) => byteLength },
    )
    this.followClient()
    this.#begin(body, this.#form.toHeaders(this.#flat, true))
    if (stream === undefined) throw new Error('The stream has no controller.')
    return stream
  }

  #makeRoom(): void {
    if (!this.writableNeedDrain || this.#isDestroyed) return
    this.writableNeedDrain = false
    clearTimeout(this.#stallTimer)
    if (this.writableEnded) this.#finish()
    else this.emit('drain')
  }

  #startStallTimer(): void {
    const { stall } = this.#form.options
    clearTimeout(this.#stallTimer)
    if (stall !== Infinity) this.#stallTimer = setTimeout(() => this.destroy(), stall).unref()
  }

  #finish(): void {
    this.writableFinished = true
    this.#stream?.close()
    // Nobody waits for the end of most responses.
    const isAwaited = this.listenerCount('close') + this.listenerCount('finish') > 0
    if (!isAwaited) this.#isDestroyed = true
    else
      queueMicrotask(() => {
        this.emit('finish')
        this.destroy()
      })
  }

  #cutOff(): void {
    const message = this.#response === undefined ? cutOffEarly : 'The response was cut off.'
    this.#failure = new Error(message)
    this.#stream?.error(this.#form.options.toError(message))
    this.#stream = undefined
    this.#begun?.(this.#failure)
  }
}

const cutOffEarly = 'The connection was closed before there was a response.'

function toBytes(piece: string | Uint8Array): Uint8Array {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}
