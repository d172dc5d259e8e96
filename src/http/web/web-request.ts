/**
 * A web-standard request as the pipeline reads it: of `app.handle`, and of servers that hand over such requests. Headers,
 * address and body are read when they are first needed. Source: Fetch standard.
 */
import type { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Incoming } from '../node-messages.js'
import { clientLeft } from '../refusals.js'
import { LazyEmitter } from './lazy-emitter.js'

/** Bodies up to this length are read as a whole. A stream would cost a small body more than its JSON. */
const maxWholeBody = 256 * 1024

/** Bun's headers are an object already. */
interface BunHeaders {
  toJSON?(): IncomingHttpHeaders
}

export class WebIncoming extends LazyEmitter implements Incoming {
  readonly httpVersion = '1.1'
  readonly method: string
  readonly url: string
  readonly socket: Incoming['socket']
  destroyed = false
  readableEnded = false
  /** The millisecond in which a body arrived that was read as a whole. */
  arrivalTime = -1
  readonly #request: Request
  #headers: IncomingHttpHeaders | undefined
  #rawHeaders: readonly string[] | undefined
  #isReading = false
  #isFlowing = false
  /** What goes on when the reader is ready for more. */
  #resumed: (() => void) | undefined
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  constructor(request: Request, socket: Incoming['socket']) {
    super()
    this.#request = request
    this.socket = socket
    this.method = request.method
    const { url } = request
    // Behind the scheme: `https://` has eight characters, and `http://` with a host more.
    const start = url.indexOf('/', 8)
    const end = url.indexOf('#')
    this.url = start === -1 ? '/' : url.slice(start, end === -1 ? undefined : end)
  }

  joinedHeader(name: string): string | null {
    const value = this.#request.headers.get(name)
    return value === null && name === 'host' ? this.#host : value
  }

  get headers(): IncomingHttpHeaders {
    return (this.#headers ??= this.#readHeaders())
  }

  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= Object.entries(this.headers).flatMap(([name, value]) =>
      Array.isArray(value) ? value.flatMap((one) => [name, one]) : [name, value ?? ''],
    )
    return this.#rawHeaders
  }

  /** Reads the body once there is a listener for its bytes. */
  override on(...[event, listener]: Parameters<EventEmitter['on']>): this {
    super.on(event, listener)
    if (event === 'data') this.resume()
    return this
  }

  /** Reads the body in one piece, if its length is known and short. */
  readWhole(take: (bytes: Buffer) => void): Promise<void> | undefined {
    if (this.#isReading || this.destroyed || !this.#isShort) return undefined
    this.#isReading = true
    return this.#request.arrayBuffer().then(
      (buffer) => {
        this.arrivalTime = Date.now()
        this.readableEnded = true
        take(Buffer.from(buffer))
      },
      (cause: unknown) => {
        this.destroy()
        throw clientLeft(cause)
      },
    )
  }

  pause(): this {
    this.#isFlowing = false
    return this
  }

  resume(): this {
    this.#isFlowing = true
    if (this.destroyed) return this
    if (!this.#isReading) {
      this.#isReading = true
      this.#read().catch(() => this.destroy())
    } else {
      const resumed = this.#resumed
      this.#resumed = undefined
      if (resumed !== undefined) queueMicrotask(resumed)
    }
    return this
  }

  unpipe(): this {
    return this
  }

  /** Reads no more of the body. */
  destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.#resumed?.()
    this.#reader?.cancel().catch(() => undefined)
    if (!this.readableEnded) queueMicrotask(() => this.emit('close'))
    return this
  }

  get #host(): string {
    return new URL(this.#request.url).host
  }

  get #isShort(): boolean {
    return Number(this.headers['content-length'] ?? Infinity) <= maxWholeBody
  }

  #readHeaders(): IncomingHttpHeaders {
    const sent: Headers & BunHeaders = this.#request.headers
    const headers = sent.toJSON?.() ?? Object.fromEntries(sent)
    headers.host ??= this.#host
    const isFramed =
      headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
    // Bun makes a stream of a body that is looked at.
    const hasBody = !isFramed && this.method !== 'GET' && this.#request.body !== null
    if (hasBody) headers['transfer-encoding'] = 'chunked'
    return headers
  }

  async #read(): Promise<void> {
    if (this.#isShort) {
      const bytes = await this.#request.arrayBuffer()
      this.arrivalTime = Date.now()
      const pushed = this.#push(Buffer.from(bytes))
      if (pushed !== undefined) await pushed
    } else if (this.#request.body !== null) await this.#readStream(this.#request.body)
    // The other listeners are added meanwhile.
    else await Promise.resolve()
    if (!this.#isFlowing) await this.#whenFlowing()
    if (this.destroyed) return
    this.readableEnded = true
    this.emit('end')
  }

  async #readStream(body: ReadableStream<Uint8Array>): Promise<void> {
    this.#reader = body.getReader()
    for (;;) {
      const { done, value } = await this.#reader.read()
      if (done || this.destroyed) return
      await this.#push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
    }
  }

  #push(chunk: Buffer): Promise<void> | undefined {
    if (!this.#isFlowing) return this.#whenFlowing().then(() => this.#push(chunk))
    if (this.destroyed || chunk.length === 0) return undefined
    this.emit('data', chunk)
    return undefined
  }

  #whenFlowing(): Promise<void> {
    return new Promise((resolve) => {
      this.#resumed = resolve
    })
  }
}
