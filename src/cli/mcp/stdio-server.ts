/**
 * The protocol over two streams: a message of JSON-RPC on each line. Source: the specification of 2026-07-28, Transports,
 * stdio.
 */
import type { Readable, Writable } from 'node:stream'
import {
  respond,
  codes,
  idOf,
  isJsonObject,
  notification,
  openExchange,
  ProtocolError,
  readMessage,
  errorResponse,
  type Message,
  type MessageId,
  type ServerDefinition,
} from '../../modules/mcp/protocol.js'

/** Bytes of a line; longer ones are refused without being kept. */
const longest = 1024 * 1024
/** Requests that are answered at a time. */
const mostRunning = 32

export interface LineStreams {
  readonly input: Readable
  readonly output: Writable
}

/** Serves until the input ends and all is answered. */
export async function serveLines(
  offer: ServerDefinition<undefined>,
  { input, output }: LineStreams,
): Promise<void> {
  const server = new LineServer(offer, output)
  // Nobody is there any more who would read.
  output.on('error', () => {
    input.destroy()
    server.leave()
  })
  try {
    for await (const line of readLines(input)) {
      server.take(line)
      // Who does not read is not heard either.
      if (output.writableNeedDrain) await drained(output)
    }
  } catch {
    // The input broke: what was asked is answered where somebody still reads.
  }
  await server.settle()
}

function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      for (const name of ['drain', 'close', 'error']) output.off(name, go)
      resolve()
    }
    for (const name of ['drain', 'close', 'error']) output.on(name, go)
  })
}

class LineServer {
  readonly #offer: ServerDefinition<undefined>
  readonly #output: Writable
  readonly #running = new Map<MessageId, AbortController>()
  readonly #answers = new Set<Promise<void>>()

  constructor(offer: ServerDefinition<undefined>, output: Writable) {
    this.#offer = offer
    this.#output = output
  }

  take(line: Line): void {
    if (line === tooLong) {
      const message = `A line has at most ${longest} bytes`
      this.#send(errorResponse(new ProtocolError(codes.request, message)).text)
      return
    }
    if (line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.#send(errorResponse(new ProtocolError(codes.parse, 'That is no JSON')).text)
      return
    }
    // Nothing was asked of the client.
    if (isJsonObject(value) && !('method' in value) && ('result' in value || 'error' in value))
      return
    try {
      this.#heed(readMessage(value))
    } catch (error) {
      this.#send(errorResponse(error, idOf(value)).text)
    }
  }

  #heed(message: Message): void {
    const { id, method, params } = message
    if (id === undefined) {
      if (method === 'notifications/cancelled') this.#cancel(params.requestId)
      return
    }
    if (this.#running.has(id)) throw new ProtocolError(codes.request, 'This id is being answered')
    if (this.#running.size >= mostRunning)
      throw new ProtocolError(codes.request, `At most ${mostRunning} requests at a time`)
    const controller = new AbortController()
    this.#running.set(id, controller)
    const answered = this.#answer(message, controller.signal).finally(() => {
      this.#running.delete(id)
      this.#answers.delete(answered)
    })
    this.#answers.add(answered)
  }

  async #answer(message: Message, signal: AbortSignal): Promise<void> {
    const { id } = message
    try {
      const exchange = openExchange(message, {
        ...{ context: undefined, signal },
        notify: (method, params) => {
          this.#send(notification(method, params))
        },
      })
      const answered = await respond(this.#offer, message, exchange)
      // A request that was cancelled is not answered.
      if (answered !== undefined && !signal.aborted) this.#send(answered.text)
    } catch (error) {
      this.#send(errorResponse(error, id).text)
    }
  }

  #cancel(id: unknown): void {
    this.#running.get(id as MessageId)?.abort()
  }

  /** Ends all that runs. */
  leave(): void {
    for (const controller of this.#running.values()) controller.abort()
  }

  async settle(): Promise<void> {
    await Promise.all(this.#answers)
  }

  #send(text: string): void {
    if (this.#output.writable) this.#output.write(`${text}\n`)
  }
}

const tooLong = Symbol('too long')
type Line = string | typeof tooLong

/** JSON has no line ends of its own: those of U+2028 are none here. */
async function* readLines(input: Readable): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      bytes += end
      if (bytes <= longest) yield Buffer.concat([...parts, rest.subarray(0, end)]).toString()
      else yield tooLong
      parts = []
      bytes = 0
      rest = rest.subarray(end + 1)
    }
    bytes += rest.byteLength
    if (bytes <= longest) parts.push(rest)
    else parts = []
  }
  if (bytes > longest) yield tooLong
  else if (bytes > 0) yield Buffer.concat(parts).toString()
}
