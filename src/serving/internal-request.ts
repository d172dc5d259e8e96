/**
 * The request and response objects of an internal request, which the program makes within another request. Its body is
 * not read from a stream, and its response is stored.
 */
import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import { isForwarded } from './tunneled-request.js'

/** The response to an internal request. */
export interface InternalResponse {
  readonly status: number
  /** Returns a header by its lower-case name, the first one if it occurs several times. */
  header(name: string): string | undefined
  /** The body as text, or as bytes if it was sent as bytes. */
  readonly body: string | Buffer
}

/** The head of an internal request. It has everything else from the outer request. */
export interface InternalHead {
  readonly method: string
  readonly url: string
  /** Headers by lower-case name. They replace headers of the outer request. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A request whose body was read already. Streams would double the cost of each call. The headers are created when they
 * are first read.
 */
class ReadIncoming extends EventEmitter implements Pick<Incoming, 'isTunneled'> {
  readonly isTunneled = true as const
  readonly complete = true
  readonly readableEnded = true
  readonly httpVersion = '1.1'
  readonly method: string
  readonly url: string
  destroyed = false
  readonly #outer: Incoming
  readonly #ownHeaders: InternalHead['headers']
  #headers: IncomingHttpHeaders | undefined
  #rawHeaders: readonly string[] | undefined
  #socket: Incoming['socket'] | undefined

  constructor(outer: Incoming, { method, url, headers }: InternalHead) {
    super()
    this.method = method
    this.url = url
    this.#outer = outer
    this.#ownHeaders = headers
  }

  get headers(): IncomingHttpHeaders {
    return (this.#headers ??= headersWithin(this.#outer, this.#ownHeaders))
  }

  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= Object.entries(this.headers).flatMap(([name, value]) =>
      Array.isArray(value) ? value.flatMap((one) => [name, one]) : [name, value ?? ''],
    )
    return this.#rawHeaders
  }

  /** The readable properties of the connection, without methods that close it. */
  get socket(): Incoming['socket'] {
    if (this.#socket === undefined) {
      const { remoteAddress, encrypted = false } = this.#outer.socket
      this.#socket = { remoteAddress, encrypted }
    }
    return this.#socket
  }

  pause(): this {
    return this
  }

  resume(): this {
    return this
  }

  unpipe(): this {
    return this
  }

  destroy(): this {
    this.destroyed = true
    return this
  }
}

function headersWithin(outer: Incoming, ownHeaders: InternalHead['headers']): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {}
  const sent = outer.headers
  for (const name in sent) if (isForwarded(name)) headers[name] = sent[name]
  for (const name in ownHeaders) headers[name] = ownHeaders[name]
  return headers
}

export function createInternalIncoming(outer: Incoming, head: InternalHead): Incoming {
  return new ReadIncoming(outer, head) as unknown as Incoming
}

/** A response as its head and body were sent. */
class StoredResponse implements InternalResponse {
  readonly status: number
  readonly body: string | Buffer
  readonly #head: readonly string[]

  constructor(status: number, head: readonly string[], body: string | Buffer) {
    this.status = status
    this.#head = head
    this.body = body
  }

  header(name: string): string | undefined {
    return valueOf(this.#head, name)
  }
}

const now = Promise.resolve()

/** Stores a response: the part of Node's response that the framework uses. */
export class InternalOutgoing extends EventEmitter {
  headersSent = false
  statusCode = 200
  destroyed = false
  writableEnded = false
  writableFinished = false
  readonly writableNeedDrain = false
  readonly #maxBytes: number
  #head: readonly string[] = []
  #pieces: (string | Uint8Array)[] | undefined
  #length = 0
  #answer: InternalResponse | undefined
  #error: Error | undefined
  #waiting:
    { resolve: (answer: InternalResponse) => void; reject: (reason: Error) => void } | undefined

  /** @param maxBytes bytes */
  constructor(maxBytes: number) {
    super()
    this.#maxBytes = maxBytes
  }

  /** True after there is a response, or if none will come. */
  get isSettled(): boolean {
    return this.#answer !== undefined || this.#error !== undefined
  }

  /**
   * Returns the response, synchronously if it is complete.
   *
   * @throws {Error} if it was cut off, is a stream, or is larger than the limit
   */
  answer(): MaybePromise<InternalResponse> {
    if (this.#error !== undefined) throw this.#error
    if (this.#answer !== undefined) return this.#answer
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  /** The object for the framework. */
  get outgoing(): Outgoing {
    return this as unknown as Outgoing
  }

  writeHead(status: number, headers: string[]): this {
    if (this.headersSent) throw new Error('The head was sent already.')
    this.headersSent = true
    this.statusCode = status
    this.#head = headers
    if (valueOf(headers, 'content-type')?.startsWith('text/event-stream') === true)
      this.#refuse('The response is a stream of events, which does not end.')
    return this
  }

  write(chunk: string | Uint8Array, ...[encoding, done = encoding]: unknown[]): boolean {
    if (this.writableEnded || this.destroyed) return false
    if (this.#fits(chunk)) (this.#pieces ??= []).push(chunk)
    if (typeof done === 'function') queueMicrotask(done as () => void)
    return true
  }

  end(chunk?: unknown): this {
    if (this.writableEnded || this.destroyed) return this
    const last = typeof chunk === 'string' || chunk instanceof Uint8Array ? chunk : ''
    if (!this.#fits(last)) return this
    this.writableEnded = this.writableFinished = true
    const pieces = this.#pieces
    const body =
      pieces === undefined ? asGiven(last) : Buffer.concat([...pieces, last].map(toBytes))
    this.#answer = new StoredResponse(this.statusCode, this.#head, body)
    this.#waiting?.resolve(this.#answer)
    void now.then(() => {
      this.emit('finish')
      this.#close()
    })
    return this
  }

  destroy(): this {
    if (this.destroyed) return this
    if (!this.writableFinished) this.#fail(new Error('The response was cut off.'))
    this.#close()
    return this
  }

  #fits({ length }: string | Uint8Array): boolean {
    this.#length += length
    if (this.#length <= this.#maxBytes) return true
    this.#refuse(`The response is larger than ${this.#maxBytes} bytes.`)
    return false
  }

  #close(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }

  #fail(error: Error): void {
    this.#error ??= error
    this.#waiting?.reject(error)
  }

  #refuse(reason: string): void {
    this.#fail(new Error(reason))
    this.#pieces = undefined
    this.destroy()
  }
}

function valueOf(head: readonly string[], lowerName: string): string | undefined {
  for (let index = 0; index + 1 < head.length; index += 2) {
    if (head[index]?.toLowerCase() === lowerName) return head[index + 1]
  }
  return undefined
}

function asGiven(piece: string | Uint8Array): string | Buffer {
  return typeof piece === 'string' ? piece : toBytes(piece)
}

function toBytes(piece: string | Uint8Array): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece)
}
