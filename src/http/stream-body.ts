/** Writes a streamed body with back-pressure, until it ends or the client disconnects. */
import { toBytes, type ChunkReader } from './chunk-reader.js'
import type { RespondingRequest } from './pending-response.js'
import type { Outgoing } from './node-messages.js'

export interface StreamOptions {
  /** Sends the head. Called once, with the first chunk. */
  readonly writeHead: () => void
  /** The number of bytes of the body according to `Content-Length`. */
  readonly length: number | undefined
  /** A text that keeps the connection open. The head is then sent immediately, followed by this text. */
  readonly heartbeat: StreamHeartbeat | undefined
}

export interface StreamHeartbeat {
  readonly text: string
  /** Milliseconds from one to the next. */
  readonly every: number
}

/**
 * Sends the reader's chunks (text or bytes), then ends the response. If the client disconnects, the reader is cancelled
 * and the promise resolves.
 *
 * @returns rejects if the reader fails, returns anything except text or bytes, or does not return `length` bytes; then
 * the response is not ended, and its head is not sent if the first chunk has failed
 */
export async function streamBody(
  request: RespondingRequest,
  reader: ChunkReader,
  options: StreamOptions,
): Promise<void> {
  const { outgoing } = request
  let beating: NodeJS.Timeout | undefined
  const leave = () => {
    clearInterval(beating)
    reader.cancel()
  }
  outgoing.once('close', leave)
  try {
    const first = Promise.resolve(reader.next())
    if (options.heartbeat !== undefined) {
      beating = await openEarly(request, first, options.heartbeat, options.writeHead)
    }
    await writeAll(request, reader, await first, options)
    // A client may disconnect in the turn in which a chunk arrives, before the listener of `close` exists.
    if (isClosed(outgoing)) reader.cancel()
  } catch (error) {
    reader.cancel()
    if (!outgoing.destroyed) throw error
  } finally {
    clearInterval(beating)
    outgoing.off('close', leave)
  }
}

async function writeAll(
  request: RespondingRequest,
  reader: ChunkReader,
  first: IteratorResult<unknown>,
  options: StreamOptions,
): Promise<void> {
  const { outgoing } = request
  const { length = Infinity } = options
  let sent = 0
  for (let result = first; !isClosed(outgoing); result = await reader.next()) {
    const chunk = result.done === true ? undefined : toChunk(result.value)
    sent += chunk?.length ?? 0
    if (sent > length) throw new Error(`The stream gave more than the ${length} bytes announced.`)
    if (!outgoing.headersSent) options.writeHead()
    if (chunk === undefined) {
      finish(outgoing, sent, length)
      return
    }
    request.response.sentBytes += chunk.length
    if (chunk.length > 0 && !outgoing.write(chunk)) await roomIn(outgoing)
  }
}

function finish(outgoing: Outgoing, sent: number, length: number): void {
  if (length !== Infinity && sent < length) {
    throw new Error(`The stream ended after ${sent} of the ${length} bytes announced.`)
  }
  outgoing.end()
}

/** A function, because the compiler assumes that a checked property does not change. */
function isClosed(outgoing: Outgoing): boolean {
  return outgoing.destroyed
}

/**
 * Sends the head while the reader waits, so that the client knows that it is connected. A reader that fails immediately
 * still gets an error response.
 */
async function openEarly(
  request: RespondingRequest,
  first: Promise<unknown>,
  heartbeat: StreamHeartbeat,
  writeHead: () => void,
): Promise<NodeJS.Timeout | undefined> {
  const { outgoing } = request
  await Promise.race([first, new Promise((resolve) => setImmediate(resolve))])
  if (isClosed(outgoing)) return undefined
  writeHead()
  const beat = (): void => {
    request.response.sentBytes += heartbeat.text.length
    outgoing.write(heartbeat.text)
  }
  beat()
  const beating = setInterval(() => {
    if (!outgoing.writableNeedDrain) beat()
  }, heartbeat.every)
  return beating.unref()
}

function toChunk(value: unknown): Uint8Array {
  const bytes = typeof value === 'string' ? Buffer.from(value) : toBytes(value)
  if (bytes !== undefined) return bytes
  throw new TypeError(
    `A streamed body contains ${value === null ? 'null' : typeof value}. Use text or bytes, or send objects with events().`,
  )
}

/** Resolves when the response has room for more, or was closed. */
function roomIn(outgoing: Outgoing): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.on('drain', done)
    outgoing.on('close', done)
  })
}
