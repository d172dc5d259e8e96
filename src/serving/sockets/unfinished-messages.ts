/**
 * Limits what WebSockets receive: the frames in a second, and the size, the time and the total size of incomplete messages.
 * The library stores an incomplete message without a time limit. Source: decisions, Security limits; RFC 6455 §5.2.
 */
import type { Socket } from 'node:net'
import { closeCodes, type CloseSocket } from './web-socket.js'

export interface UnfinishedLimits {
  /**
   * Maximum bytes of the incomplete messages of all sockets. Above it, the sockets with the oldest messages are closed.
   */
  readonly bytes: number
  /** Milliseconds within which a message must be complete. */
  readonly time: number
}

/**
 * Maximum frames of a socket in a second: of any kind, and of control frames, which the library replies to. A client sends
 * several in a minute, and one for each operation.
 */
const [maxFramesPerSecond, maxControlFramesPerSecond] = [4000, 100]

/** Counts events in windows of a second. */
export class SecondCount {
  readonly #max: number
  #count = 0
  #began = -Infinity

  constructor(max: number) {
    this.#max = max
  }

  /** Counts further events. @returns false if there are too many in this second */
  add(events: number): boolean {
    const now = performance.now()
    if (now - this.#began >= 1000) {
      this.#began = now
      this.#count = 0
    }
    this.#count += events
    return this.#count <= this.#max
  }
}

/** Counts what one socket receives. */
export class ReceivingRates {
  readonly #frames = new SecondCount(maxFramesPerSecond)
  readonly #controlFrames = new SecondCount(maxControlFramesPerSecond)

  /** Counts further frames, and those of them that are control frames. @returns false if there are too many in this second */
  add(frames: number, controlFrames: number): boolean {
    return this.#frames.add(frames) && this.#controlFrames.add(controlFrames)
  }
}

/** The message that one socket is receiving. */
interface Receiving {
  bytes: number
  /** Time when its first byte arrived. */
  readonly since: number
  readonly close: CloseSocket
}

/** All sockets of an application. */
export class UnfinishedMessages {
  readonly #limits: UnfinishedLimits
  /** The oldest first. */
  readonly #receiving = new Set<Receiving>()
  #bytes = 0
  #clock: NodeJS.Timeout | undefined

  constructor(limits: UnfinishedLimits) {
    this.#limits = limits
  }

  /**
   * Tracks the messages that a socket receives.
   *
   * @param maxPayload returns the maximum size of a message in bytes
   * @param close closes the socket immediately
   */
  follow(socket: Socket, maxPayload: () => number, close: CloseSocket): void {
    const frames = new FrameCounter(maxPayload)
    const rates = new ReceivingRates()
    let receiving: Receiving | undefined
    let isClosed = false
    const finish = (): void => {
      if (receiving !== undefined) this.#remove(receiving)
      receiving = undefined
    }
    const end: CloseSocket = (code, reason) => {
      isClosed = true
      finish()
      close(code, reason)
    }
    // Runs before the library, which stores the chunk.
    socket.prependListener('data', (chunk: Buffer) => {
      if (isClosed) return
      const { messages, total, controls } = frames
      if (!frames.read(chunk)) {
        end(closeCodes.tooBig, 'Message too large')
        return
      }
      if (!rates.add(frames.total - total, frames.controls - controls)) {
        end(closeCodes.policy, 'Too many frames')
        return
      }
      if (frames.messages !== messages) finish()
      if (frames.unfinished === 0) finish()
      else {
        receiving ??= this.#begin(end)
        this.#bytes += frames.unfinished - receiving.bytes
        receiving.bytes = frames.unfinished
        if (this.#bytes > this.#limits.bytes) this.#closeOldest()
      }
    })
    socket.once('close', finish)
  }

  #begin(close: CloseSocket): Receiving {
    const receiving = { bytes: 0, since: performance.now(), close }
    this.#receiving.add(receiving)
    this.#clock ??= setInterval(this.#closeOverdue, Math.min(1000, this.#limits.time / 4)).unref()
    return receiving
  }

  #remove(receiving: Receiving): void {
    if (this.#receiving.delete(receiving)) this.#bytes -= receiving.bytes
  }

  #closeOldest(): void {
    for (const { close } of this.#receiving) {
      if (this.#bytes <= this.#limits.bytes) break
      close(closeCodes.tryAgain, 'Too many unfinished messages')
    }
  }

  readonly #closeOverdue = (): void => {
    const latest = performance.now() - this.#limits.time
    for (const { since, close } of this.#receiving) {
      if (since > latest) break
      close(closeCodes.policy, 'Message not complete in time')
    }
    if (this.#receiving.size > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}

/** Reads the heads of frames, and counts the bytes of the message that is not complete. */
class FrameCounter {
  /** Messages that are complete. */
  messages = 0
  /** Frames whose head is complete, and how many of them are control frames. */
  total = 0
  controls = 0
  readonly #maxPayload: () => number
  readonly #head = Buffer.alloc(14)
  #headLength = 0
  #headEnd = 2
  /** Bytes of the current frame that have not arrived. */
  #missing = 0
  /** Bytes of the current frame that have arrived. */
  #frame = 0
  /** Bytes, with their heads, of the frames of the message that are complete, and the payload of all its frames so far. */
  #complete = 0
  #payload = 0

  constructor(maxPayload: () => number) {
    this.#maxPayload = maxPayload
  }

  get unfinished(): number {
    return this.#complete + this.#frame
  }

  /** @returns false if a message exceeds its maximum size */
  read(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length;) {
      if (this.#missing > 0) {
        const count = Math.min(this.#missing, chunk.length - at)
        this.#missing -= count
        this.#frame += count
        at += count
        if (this.#missing === 0) this.#endFrame()
      } else {
        this.#head[this.#headLength++] = chunk[at++] ?? 0
        this.#frame++
        if (this.#headLength === 2) this.#headEnd = endOfHead(this.#head)
        if (this.#headLength === this.#headEnd && !this.#beginPayload()) return false
      }
    }
    return true
  }

  get #isControl(): boolean {
    return ((this.#head[0] ?? 0) & 0x08) !== 0
  }

  #beginPayload(): boolean {
    const length = lengthOf(this.#head)
    this.total++
    if (this.#isControl) this.controls++
    this.#headLength = 0
    this.#headEnd = 2
    this.#missing = length
    if (!this.#isControl) this.#payload += length
    if (this.#payload > this.#maxPayload()) return false
    if (length === 0) this.#endFrame()
    return true
  }

  #endFrame(): void {
    // Control frames may come between the frames of a message.
    if (!this.#isControl) {
      const isLast = ((this.#head[0] ?? 0) & 0x80) !== 0
      this.#complete = isLast ? 0 : this.#complete + this.#frame
      if (isLast) {
        this.#payload = 0
        this.messages++
      }
    }
    this.#frame = 0
  }
}

/** @param head at least its first two bytes */
function endOfHead(head: Buffer): number {
  const second = head[1] ?? 0
  const code = second & 0x7f
  const mask = second & 0x80 ? 4 : 0
  return 2 + mask + (code === 127 ? 8 : code === 126 ? 2 : 0)
}

function lengthOf(head: Buffer): number {
  const code = (head[1] ?? 0) & 0x7f
  if (code < 126) return code
  return code === 126 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2))
}
