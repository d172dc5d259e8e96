/** A response without a socket, which stores what is written to it. */
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { HeaderList } from '../header-list.js'
import type { Outgoing } from '../node-messages.js'

export interface ResponseHead {
  readonly status: number
  readonly headers: HeaderList
}

/** The response to an internal request. */
export interface InternalResponse {
  readonly status: number
  /** Returns a header by its name, the first one if it occurs several times. */
  header(name: string): string | undefined
  /** The body as text, or as bytes if it was sent as bytes. */
  readonly body: string | Buffer
}

/** Bytes that a stream may write before somebody reads them. */
const highWaterMark = 64 * 1024

const now = Promise.resolve()

/**
 * Its body is read as a stream (`body`), with back-pressure, or as a whole (`collected`): then without streams, which
 * would double the cost of an internal request.
 */
export class FakeResponse extends EventEmitter implements Outgoing {
  headersSent = false
  statusCode = 200
  destroyed = false
  writableEnded = false
  writableFinished = false
  writableNeedDrain = false
  readonly #maxBytes: number | undefined
  #isCollected: boolean
  #headers = new HeaderList()
  /** What nobody has read yet. */
  #pieces: (string | Uint8Array)[] = []
  #length = 0
  #body: Readable | undefined
  #head: Promise<ResponseHead> | undefined
  #error: Error | undefined

  /** @param maxBytes the limit of a response that is collected. Then an event stream is refused, because it does not end */
  constructor(maxBytes?: number) {
    super()
    this.#maxBytes = maxBytes
    this.#isCollected = maxBytes !== undefined
  }

  /** Resolves when the head was written; rejects if the response is cut off before. */
  get head(): Promise<ResponseHead> {
    if (this.#head === undefined) {
      this.#head = this.#waitForHead()
      this.#head.catch(() => undefined)
    }
    return this.#head
  }

  /** The body's bytes. Fails if the response is cut off. */
  get body(): Readable {
    return (this.#body ??= this.#createBody())
  }

  /** True if the response is complete, or none will come. */
  hasSettled(): boolean {
    return this.writableFinished || this.#error !== undefined
  }

  /**
   * The complete response, synchronously if it is there.
   *
   * @throws {Error} if it was cut off, is a stream of events, or is larger than the limit
   */
  collected(): MaybePromise<CollectedResponse> {
    if (this.hasSettled()) return this.#collect()
    this.#isCollected = true
    this.#makeRoom()
    if (this.hasSettled()) return this.#collect()
    const closed = new Promise<void>((resolve) => {
      this.once('close', resolve)
    })
    return closed.then(() => this.#collect())
  }

  writeHead(status: number, headers: string[]): this {
    if (this.headersSent) throw new Error('The head was sent already.')
    this.headersSent = true
    this.statusCode = status
    this.#headers = new HeaderList(headers)
    this.emit('head')
    const isEvents = this.#headers.first('Content-Type')?.startsWith('text/event-stream') === true
    if (isEvents && this.#maxBytes !== undefined)
      this.#refuse('The response is a stream of events, which does not end.')
    return this
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.writableEnded || this.destroyed) return false
    this.#store(chunk)
    return !this.writableNeedDrain
  }

  end(chunk?: string | Uint8Array): this {
    if (this.writableEnded || this.destroyed) return this
    if (chunk !== undefined && chunk.length > 0) this.#store(chunk)
    this.writableEnded = true
    if (!this.writableNeedDrain) this.#finish()
    return this
  }

  destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    if (!this.writableFinished) this.#cutOff()
    void now.then(() => this.emit('close'))
    return this
  }

  #store(chunk: string | Uint8Array): void {
    this.#length += chunk.length
    if (this.#maxBytes !== undefined && this.#length > this.#maxBytes)
      this.#refuse(`The response is larger than ${this.#maxBytes} bytes.`)
    else if (this.#body === undefined) {
      this.#pieces.push(chunk)
      this.writableNeedDrain = !this.#isCollected && this.#length >= highWaterMark
    } else this.writableNeedDrain = !this.#body.push(toBytes(chunk))
  }

  #makeRoom(): void {
    if (!this.writableNeedDrain) return
    this.writableNeedDrain = false
    if (this.writableEnded) this.#finish()
    else this.emit('drain')
  }

  #finish(): void {
    if (this.destroyed) return
    this.writableFinished = true
    this.#body?.push(null)
    void now.then(() => {
      this.emit('finish')
      this.destroy()
    })
  }

  #refuse(reason: string): void {
    this.#error = new Error(reason)
    this.destroy()
  }

  #cutOff(): void {
    const reason = this.headersSent
      ? 'The response was cut off.'
      : 'The connection was closed before there was a response.'
    this.#error ??= new Error(reason)
    this.#pieces = []
    this.#body?.destroy(this.#error)
  }

  #collect(): CollectedResponse {
    if (this.#error !== undefined) throw this.#error
    return new CollectedResponse(this.statusCode, this.#headers, joined(this.#pieces))
  }

  #waitForHead(): Promise<ResponseHead> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (this.headersSent) resolve({ status: this.statusCode, headers: this.#headers })
        else reject(this.#error ?? new Error('The response was cut off.'))
      }
      if (this.headersSent || this.destroyed) settle()
      else this.once('head', settle).once('close', settle)
    })
  }

  #createBody(): Readable {
    const body = new Readable({
      read: () => {
        this.#makeRoom()
      },
      destroy: (error, callback) => {
        this.destroy()
        callback(error)
      },
    })
    body.on('error', () => undefined)
    for (const piece of this.#pieces) body.push(toBytes(piece))
    this.#pieces = []
    if (this.#error !== undefined) body.destroy(this.#error)
    else if (this.writableFinished) body.push(null)
    return body
  }
}

export class CollectedResponse implements InternalResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string | Buffer

  constructor(status: number, headers: HeaderList, body: string | Buffer) {
    this.status = status
    this.headers = headers
    this.body = body
  }

  header(name: string): string | undefined {
    return this.headers.first(name)
  }
}

function joined(pieces: readonly (string | Uint8Array)[]): string | Buffer {
  const [first = ''] = pieces
  if (pieces.length > 1) return Buffer.concat(pieces.map(toBytes))
  return typeof first === 'string' ? first : toBytes(first)
}

function toBytes(piece: string | Uint8Array): Buffer {
  if (typeof piece === 'string') return Buffer.from(piece)
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}
