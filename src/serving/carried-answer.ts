/** The ends of a request that is made within another by the program itself: nothing is read of a body, and the answer is kept. */
import { EventEmitter } from 'node:events'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import type { StandInRequest } from '../http/stand-in.js'

/** What a carried request was answered with. */
export interface CarriedAnswer {
  readonly status: number
  /** By its name in lower case; the first where it came more than once. */
  header(name: string): string | undefined
  /** Text, or bytes where it was sent as such. */
  readonly body: string | Buffer
}

/** A request whose body was read already: with streams made for it each call would cost twice as much. */
class ReadIncoming extends EventEmitter {
  readonly isCarried = true as const
  readonly complete = true
  readonly readableEnded = true
  readonly httpVersion = '1.1'
  readonly headers: Record<string, string> = {}
  readonly rawHeaders: string[] = []
  readonly socket: { readonly remoteAddress: string | undefined; readonly encrypted: boolean }
  destroyed = false

  constructor(
    readonly method: string,
    readonly url: string,
    request: Pick<StandInRequest, 'headers' | 'remoteAddress' | 'encrypted'>,
  ) {
    super()
    for (const [name, value] of request.headers) {
      const before = this.headers[name]
      this.headers[name] = before === undefined ? value : `${before}, ${value}`
      this.rawHeaders.push(name, value)
    }
    const { remoteAddress, encrypted = false } = request
    this.socket = { remoteAddress, encrypted }
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

/** @param request its header names in lower case */
export function carriedIncoming(request: Omit<StandInRequest, 'body'>): Incoming {
  return new ReadIncoming(request.method, request.url, request) as unknown as Incoming
}

/** Where an answer is kept: what the framework needs of a response, and nothing that waits. */
export class KeptResponse extends EventEmitter {
  headersSent = false
  statusCode = 200
  destroyed = false
  writableEnded = false
  writableFinished = false
  readonly writableNeedDrain = false
  /** Rejects where it was cut off, or is a stream or larger than the bound. */
  readonly answer: Promise<CarriedAnswer>
  readonly #most: number
  #head: readonly string[] = []
  #pieces: (string | Uint8Array)[] = []
  #length = 0
  #settle: (answer: CarriedAnswer) => void = () => undefined
  #reject: (reason: Error) => void = () => undefined

  /** @param most bytes */
  constructor(most: number) {
    super()
    this.#most = most
    this.answer = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#reject = reject
    })
  }

  /** As the framework takes it. */
  get outgoing(): Outgoing {
    return this as unknown as Outgoing
  }

  writeHead(status: number, headers: string[]): this {
    if (this.headersSent) throw new Error('The head was sent already.')
    this.headersSent = true
    this.statusCode = status
    this.#head = headers
    if (this.#header('content-type')?.startsWith('text/event-stream') === true)
      this.#refuse('The answer is a stream of events, which does not end.')
    return this
  }

  write(chunk: string | Uint8Array, ...[encoding, done = encoding]: unknown[]): boolean {
    if (this.writableEnded || this.destroyed) return false
    this.#length += chunk.length
    if (this.#length > this.#most) this.#refuse(`The answer is larger than ${this.#most} bytes.`)
    else this.#pieces.push(chunk)
    if (typeof done === 'function') queueMicrotask(done as () => void)
    return true
  }

  end(chunk?: unknown): this {
    if (this.writableEnded || this.destroyed) return this
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk)
    if (this.destroyed as boolean) return this
    this.writableEnded = this.writableFinished = true
    const [first = '', ...more] = this.#pieces
    const body = more.length === 0 ? asGiven(first) : Buffer.concat(this.#pieces.map(toBytes))
    this.#settle({ status: this.statusCode, header: (name) => this.#header(name), body })
    queueMicrotask(() => {
      this.emit('finish')
      this.#close()
    })
    return this
  }

  destroy(): this {
    if (this.destroyed) return this
    if (!this.writableFinished) this.#reject(new Error('The answer was cut off.'))
    this.#close()
    return this
  }

  #close(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }

  #header(wanted: string): string | undefined {
    const list = this.#head
    for (let index = 0; index + 1 < list.length; index += 2) {
      if (list[index]?.toLowerCase() === wanted) return list[index + 1]
    }
    return undefined
  }

  #refuse(why: string): void {
    this.#reject(new Error(why))
    this.#pieces = []
    this.destroy()
  }
}

function asGiven(piece: string | Uint8Array): string | Buffer {
  return typeof piece === 'string' ? piece : toBytes(piece)
}

function toBytes(piece: string | Uint8Array): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece)
}
