/**
 * Serves the Model Context Protocol over two streams, with one JSON-RPC message on each line. Source: the specification of
 * 2026-07-28, Transports, stdio.
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

/** Maximum bytes of a line. Longer lines are refused and not stored. */
const maxLineBytes = 1024 * 1024
/** Maximum number of requests that run at the same time. */
const maxRunning = 32

interface LineStreams {
  readonly input: Readable
  readonly output: Writable
}

/** Serves until the input ends and all responses are sent. */
export async function serveLines(
  definition: ServerDefinition<undefined>,
  { input, output }: LineStreams,
): Promise<void> {
  const server = new LineServer(definition, output)
  // The client does not read any more.
  output.on('error', () => {
    input.destroy()
    server.abortAll()
  })
  try {
    for await (const line of readLines(input)) {
      server.receive(line)
      // A client that does not read responses cannot send further requests.
      if (output.writableNeedDrain) await waitForDrain(output)
    }
  } catch {
    // The input failed. Responses of running requests are still sent.
  }
  await server.finish()
}

function waitForDrain(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      for (const name of ['drain', 'close', 'error']) output.off(name, go)
      resolve()
    }
    for (const name of ['drain', 'close', 'error']) output.on(name, go)
  })
}

class LineServer {
  readonly #definition: ServerDefinition<undefined>
  readonly #output: Writable
  readonly #running = new Map<MessageId, AbortController>()
  readonly #pending = new Set<Promise<void>>()

  constructor(definition: ServerDefinition<undefined>, output: Writable) {
    this.#definition = definition
    this.#output = output
  }

  receive(line: Line): void {
    if (line === tooLong) {
      const message = `A line has at most ${maxLineBytes} bytes`
      this.#send(errorResponse(new ProtocolError(codes.request, message)).text)
      return
    }
    if (line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.#send(errorResponse(new ProtocolError(codes.parse, 'The line is not JSON')).text)
      return
    }
    // The server sends no requests, so responses of the client are ignored.
    if (isJsonObject(value) && !('method' in value) && ('result' in value || 'error' in value))
      return
    try {
      this.#handle(readMessage(value))
    } catch (error) {
      this.#send(errorResponse(error, idOf(value)).text)
    }
  }

  #handle(message: Message): void {
    const { id, method, params } = message
    if (id === undefined) {
      if (method === 'notifications/cancelled') this.#cancel(params.requestId)
      return
    }
    if (this.#running.has(id))
      throw new ProtocolError(codes.request, 'A request with this id is still running')
    if (this.#running.size >= maxRunning)
      throw new ProtocolError(codes.request, `At most ${maxRunning} requests at a time`)
    const controller = new AbortController()
    this.#running.set(id, controller)
    const finished = this.#respond(message, controller.signal).finally(() => {
      this.#running.delete(id)
      this.#pending.delete(finished)
    })
    this.#pending.add(finished)
  }

  async #respond(message: Message, signal: AbortSignal): Promise<void> {
    const { id } = message
    try {
      const exchange = openExchange(message, {
        context: undefined,
        signal,
        notify: (method, params) => {
          this.#send(notification(method, params))
        },
      })
      const response = await respond(this.#definition, message, exchange)
      // A cancelled request gets no response.
      if (response !== undefined && !signal.aborted) this.#send(response.text)
    } catch (error) {
      this.#send(errorResponse(error, id).text)
    }
  }

  #cancel(id: unknown): void {
    this.#running.get(id as MessageId)?.abort()
  }

  /** Cancels all running requests. */
  abortAll(): void {
    for (const controller of this.#running.values()) controller.abort()
  }

  async finish(): Promise<void> {
    await Promise.all(this.#pending)
  }

  #send(text: string): void {
    if (this.#output.writable) this.#output.write(`${text}\n`)
  }
}

const tooLong = Symbol('too long')
type Line = string | typeof tooLong

/** Splits the input at line feeds. Other line separators, such as U+2028, can be part of JSON. */
async function* readLines(input: Readable): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      bytes += end
      if (bytes <= maxLineBytes) yield Buffer.concat([...parts, rest.subarray(0, end)]).toString()
      else yield tooLong
      parts = []
      bytes = 0
      rest = rest.subarray(end + 1)
    }
    bytes += rest.byteLength
    if (bytes <= maxLineBytes) parts.push(rest)
    else parts = []
  }
  if (bytes > maxLineBytes) yield tooLong
  else if (bytes > 0) yield Buffer.concat(parts).toString()
}
