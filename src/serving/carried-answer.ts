/** The ends of a request that is made within another by the program itself: nothing is read of a body, and the answer is kept. */
import { Readable, Writable } from 'node:stream'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import { createIncoming, type StandInRequest } from '../http/stand-in.js'

/** What a carried request was answered with. */
export interface CarriedAnswer {
  readonly status: number
  /** By its name in lower case; the first where it came more than once. */
  header(name: string): string | undefined
  /** Text, or bytes where it was sent as such. */
  readonly body: string | Buffer
}

/** A body whose pieces are never asked for. */
class NoBody extends Readable {
  override _read(): void {
    this.push(null)
  }
}

export function carriedIncoming(request: Omit<StandInRequest, 'body'>): Incoming {
  const incoming = createIncoming({ ...request, body: new NoBody() })
  return Object.assign(incoming, { isCarried: true as const, complete: true })
}

/** Keeps what is written to it, up to a bound. */
export class KeptResponse extends Writable implements Outgoing {
  headersSent = false
  statusCode = 200
  /** Rejects where it was cut off, or is a stream or larger than the bound. */
  readonly answer: Promise<CarriedAnswer>
  readonly #most: number
  #head: readonly string[] = []
  #pieces: (string | Buffer)[] = []
  #length = 0
  #settle: (answer: CarriedAnswer) => void = () => undefined
  #reject: (reason: Error) => void = () => undefined

  /** @param most bytes */
  constructor(most: number) {
    super({ decodeStrings: false })
    this.#most = most
    this.answer = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#reject = reject
    })
    this.answer.catch(() => undefined)
    this.on('error', () => undefined)
    this.once('close', () => {
      this.#reject(new Error('The answer was cut off.'))
    })
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

  override _write(chunk: string | Buffer, _encoding: string, callback: () => void): void {
    this.#length += chunk.length
    if (this.#length > this.#most) this.#refuse(`The answer is larger than ${this.#most} bytes.`)
    else this.#pieces.push(chunk)
    callback()
  }

  override _final(callback: () => void): void {
    const [first = '', ...more] = this.#pieces
    const body = more.length === 0 ? first : Buffer.concat(this.#pieces.map(toBytes))
    this.#settle({ status: this.statusCode, header: (name) => this.#header(name), body })
    callback()
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

function toBytes(piece: string | Buffer): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}
