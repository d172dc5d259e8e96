/**
 * Merges the chunks of request bodies before Node's parser reads them. The parser copies each chunk into a buffer of its own
 * and calls listeners with it, which takes more than a microsecond, so 1 MiB in chunks of one byte would take seconds. The
 * borders of chunks have no meaning. Source: decisions, Security limits; RFC 9112 §7.1.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Whether the body of a request comes in chunks. An upgrade is not read as HTTP. */
export function isChunked({ headers, upgrade }: IncomingMessage & { upgrade?: boolean }): boolean {
  const encoding = headers['transfer-encoding']
  return encoding !== undefined && upgrade !== true && /(?:^|,)[\t ]*chunked[\t ]*$/i.test(encoding)
}

const [carriageReturn, lineFeed, tab, space, semicolon, del] = [0x0d, 0x0a, 0x09, 0x20, 0x3b, 0x7f]
const lineEnd = '\r\n'
/** Room for the size of a merged chunk, eight digits, and the line end. */
const sizeRoom = 10
/** The end of the chunks. Trailers may follow. */
const lastChunk = `0${lineEnd}`
/** The maximum digits of a size that is a safe integer. */
const maxDigits = 13
/** The maximum bytes of the extensions of all chunks of a body. */
const maxExtensionBytes = 16 * 1024

/** Codes of Node's parser. */
type ChunkErrorCode = 'HPE_INVALID_CHUNK_SIZE' | 'HPE_STRICT' | 'HPE_CHUNK_EXTENSIONS_OVERFLOW'

class ChunkError extends Error {
  readonly code: ChunkErrorCode

  constructor(code: ChunkErrorCode) {
    super('The chunks of a body are malformed.')
    this.code = code
  }
}

/** What comes next. Numbers, because each byte of a body is compared with them. */
const [inHead, inSize, inExtension, atSizeEnd, inData, afterData, atDataEnd, over] = [
  0, 1, 2, 3, 4, 5, 6, 7,
] as const
type MergerState = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7

/** Merges the chunks of one body. */
class ChunkMerger {
  #state: MergerState = inHead
  /** Bytes of the head, or of the data of the current chunk, that have not arrived. */
  #missing: number
  #digits = 0
  #extensionBytes = 0

  /** @param headBytes the length of the head, which is passed on as it is */
  constructor(headBytes: number) {
    this.#missing = headBytes
  }

  /** Whether the next bytes are those of the head. */
  get isInHead(): boolean {
    return this.#state === inHead
  }

  /** Whether all chunks have arrived. Further bytes are trailers and the next request. */
  get isOver(): boolean {
    return this.#state === over
  }

  /**
   * @returns the same data as one chunk, with the bytes of the head before it, and the bytes after the last chunk behind it
   * @throws {ChunkError} if the chunks are malformed
   */
  take(bytes: Buffer): Buffer[] {
    if (this.#state !== inHead) return [this.#merge(bytes)]
    const head = bytes.subarray(0, this.#missing)
    this.#missing -= head.length
    if (this.#missing > 0) return [head]
    this.#state = inSize
    return [head, this.#merge(bytes.subarray(head.length))]
  }

  #merge(bytes: Buffer): Buffer {
    const room = sizeRoom + lineEnd.length + lastChunk.length
    const merged = Buffer.allocUnsafe(bytes.length + room)
    let at = 0
    let end = sizeRoom
    while (at < bytes.length && this.#state !== over) {
      if (this.#state !== inData) {
        at = this.#readFrame(bytes, at)
        continue
      }
      const count = Math.min(this.#missing, bytes.length - at)
      if (count === 1) merged[end] = bytes[at] ?? 0
      else bytes.copy(merged, end, at, at + count)
      at += count
      end += count
      this.#missing -= count
      if (this.#missing === 0) this.#state = afterData
    }
    let begin = sizeRoom
    if (end > sizeRoom) {
      const size = `${(end - sizeRoom).toString(16)}${lineEnd}`
      begin -= size.length
      merged.write(size, begin, 'latin1')
      end += merged.write(lineEnd, end, 'latin1')
    }
    if (this.#state === over) {
      end += merged.write(lastChunk, end, 'latin1')
      end += bytes.copy(merged, end, at)
    }
    return merged.subarray(begin, end)
  }

  /** Reads the bytes between the data of two chunks. @returns where the data begins, or the end of the bytes */
  #readFrame(bytes: Buffer, start: number): number {
    let state: MergerState = this.#state
    let at = start
    for (; at < bytes.length && state !== inData && state !== over; at++) {
      const byte = bytes[at] ?? 0
      if (state === inSize) state = this.#readSize(byte)
      else if (state === inExtension) state = this.#readExtension(byte)
      else if (byte !== (state === afterData ? carriageReturn : lineFeed))
        throw new ChunkError('HPE_STRICT')
      else if (state === afterData) state = atDataEnd
      else if (state === atDataEnd) state = inSize
      else state = this.#endSize()
    }
    this.#state = state
    return at
  }

  #endSize(): MergerState {
    this.#digits = 0
    return this.#missing === 0 ? over : inData
  }

  #readSize(byte: number): MergerState {
    const digit = digitOf(byte)
    if (digit !== undefined && this.#digits < maxDigits) {
      this.#missing = this.#missing * 16 + digit
      this.#digits++
      return inSize
    }
    if (this.#digits > 0 && byte === carriageReturn) return atSizeEnd
    if (this.#digits > 0 && byte === semicolon) return inExtension
    throw new ChunkError('HPE_INVALID_CHUNK_SIZE')
  }

  /** Extensions have no meaning for the application, so they are dropped. */
  #readExtension(byte: number): MergerState {
    if (byte === carriageReturn) return atSizeEnd
    if ((byte < space && byte !== tab) || byte === del) throw new ChunkError('HPE_STRICT')
    if (++this.#extensionBytes > maxExtensionBytes)
      throw new ChunkError('HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return inExtension
  }
}

function digitOf(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

/** Bytes that are merged in one turn of the event loop. They take a few milliseconds. */
const bytesPerTurn = 128 * 1024

interface ChunkedBody {
  readonly socket: Socket
  /** The order of arrival. */
  readonly sequence: number
  /** Bytes that were put back, because other bodies had the current turn. */
  waiting: number
  /** Whether the body may be read in the current turn, whatever was read before. */
  hasTurn: boolean
}

/** The chunked bodies that a server is reading. Older ones go first, so that few are in memory. */
export class ChunkedBodies {
  readonly #server: Server
  readonly #waiting = new Set<ChunkedBody>()
  #bytesInTurn = 0
  #isScheduled = false
  #sequence = 0

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Merges the chunks of the request that a connection, which was just handed to the server, sends next.
   *
   * @param headBytes the length of the request's head, which is still to be read
   */
  follow(socket: Socket, headBytes: number): void {
    const parse = socket.listeners('data').at(-1) as ((bytes: Buffer) => void) | undefined
    if (parse === undefined) return
    const merger = new ChunkMerger(headBytes)
    const body = { socket, sequence: this.#sequence++, waiting: 0, hasTurn: false }
    const read = (bytes: Buffer): void => {
      if (merger.isOver) parse(bytes)
      else if (merger.isInHead || this.#mayRead(body, bytes.length))
        this.#parse(socket, merger, bytes, parse)
      else {
        socket.pause()
        socket.unshift(bytes)
      }
    }
    socket.off('data', parse)
    // Node removes its own listener. The emitter finds this one by the property, like those of `once`.
    socket.on('data', Object.assign(read, { listener: parse }))
    socket.once('close', () => this.#waiting.delete(body))
  }

  #parse(socket: Socket, merger: ChunkMerger, bytes: Buffer, parse: (bytes: Buffer) => void): void {
    let parts: Buffer[]
    try {
      parts = merger.take(bytes)
    } catch (error) {
      if (!(error instanceof ChunkError)) throw error
      this.#server.emit('clientError', error, socket)
      return
    }
    for (const part of parts) if (part.length > 0) parse(part)
  }

  /** Counts the bytes of the turn. If there are too many, the body waits for a later one. */
  #mayRead(body: ChunkedBody, bytes: number): boolean {
    const isFirst = this.#waiting.size === 0 && this.#bytesInTurn < bytesPerTurn
    this.#schedule()
    if (!isFirst && !body.hasTurn) {
      body.waiting = bytes
      this.#waiting.add(body)
      return false
    }
    body.hasTurn = false
    this.#bytesInTurn += bytes
    return true
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#beginTurn)
  }

  readonly #beginTurn = (): void => {
    this.#isScheduled = false
    this.#bytesInTurn = 0
    if (this.#waiting.size === 0) return
    this.#schedule()
    const oldestFirst = [...this.#waiting].sort((one, other) => one.sequence - other.sequence)
    let planned = 0
    for (const body of oldestFirst) {
      if (planned >= bytesPerTurn) return
      planned += body.waiting
      this.#waiting.delete(body)
      body.hasTurn = true
      body.socket.resume()
    }
  }
}
