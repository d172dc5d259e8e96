/**
 * Large answers go out in pieces, each when the one before has been taken, and what clients have not read of them is
 * bounded together: beyond that the slowest are ended, so that readers who stop cannot fill the memory. Source:
 * docs/configuration.md, "Bounds".
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Writable } from 'node:stream'
import type { Log } from '../core/log.js'
import type { Sending } from './end-with.js'

/**
 * Lets what was dropped go at once. The collector goes by what programs allocate, and comes late where much was dropped in
 * a moment: a process whose readers have stopped would keep their answers. Source: Node.js, v8.setFlagsFromString.
 */

let collect: (() => void) | undefined

/** Does nothing where the runtime has no way to it. */
function collectGarbage(): void {
  collect ??= findCollector()
  collect()
}

function findCollector(): () => void {
  try {
    setFlagsFromString('--expose-gc')
    const found: unknown = runInNewContext('gc')
    return typeof found === 'function' ? (found as () => void) : nothing
  } catch {
    return nothing
  }
}

function nothing(): void {
  return undefined
}

/** Answers of fewer bytes are written at once. */
export const largeAnswer = 256 * 1024
/** Bytes, or letters, of a piece. */
const piece = 128 * 1024
/** Milliseconds for which somebody who has read nothing is not ended for others. */
const grace = 500
/** Times the bound: beyond it there is no grace. */
const maxFactor = 1.5
/** Milliseconds between two looks, while there is too much, and between two lines of the log. */
const [checkInterval, logInterval] = [200, 10_000]

/** Bytes of ended answers after which the memory is made free at once. */
const maxDropped = 32 * 1024 * 1024

interface Unread {
  readonly socket: Writable
  bytes: number
  /** When something was taken last. */
  movedAt: number
  /** Lets go what is left of the answer. */
  readonly drop: () => void
}

export class UnreadResponses {
  readonly #maxBytes: number
  readonly #log: Log
  readonly #all = new Set<Unread>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #ended = 0
  #dropped = 0
  #stalled = 0
  #logTimer: NodeJS.Timeout | undefined
  #loggedAt = -Infinity

  /** @param maxBytes bytes of all answers together */
  constructor(maxBytes: number, log: Log) {
    this.#maxBytes = maxBytes
    this.#log = log
  }

  /** Answers written to this connection count. */
  follow(socket: object): void {
    followers.set(socket, this)
  }

  /** A connection was closed because nothing of its answer was taken for too long. */
  stalled(): void {
    this.#stalled++
    this.#scheduleLog()
  }

  add(socket: Writable, bytes: number, drop: () => void): Unread {
    const unread = { socket, bytes, movedAt: performance.now(), drop }
    this.#all.add(unread)
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) this.#relieve()
    return unread
  }

  took(unread: Unread, bytes: number): void {
    unread.bytes -= bytes
    unread.movedAt = performance.now()
    this.#bytes -= bytes
    // To the end: those before it have waited longer.
    this.#all.delete(unread)
    this.#all.add(unread)
  }

  remove(unread: Unread): void {
    if (this.#all.delete(unread)) this.#bytes -= unread.bytes
  }

  #relieve(): void {
    const now = performance.now()
    for (const unread of this.#all) {
      if (this.#bytes <= this.#maxBytes) break
      const hasGrace = now - unread.movedAt < grace
      if (hasGrace && this.#bytes <= maxFactor * this.#maxBytes) break
      this.remove(unread)
      unread.drop()
      unread.socket.destroy()
      this.#ended++
      this.#dropped += unread.bytes
      this.#scheduleLog()
    }
    if (this.#dropped >= maxDropped) {
      this.#dropped = 0
      // Not later: the next answers may be made in this turn of the loop.
      collectGarbage()
    }
    this.#timer ??= setInterval(() => {
      if (this.#bytes > this.#maxBytes) {
        this.#relieve()
        return
      }
      clearInterval(this.#timer)
      this.#timer = undefined
    }, checkInterval).unref()
  }

  /** At once, then at most every ten seconds, with how many there were. */
  #scheduleLog(): void {
    this.#logTimer ??= setTimeout(
      () => {
        this.#logTimer = undefined
        this.#loggedAt = performance.now()
        const counts = { ended: this.#ended, stalled: this.#stalled, unread: this.#bytes }
        this.#ended = 0
        this.#stalled = 0
        this.#log.warn(counts, 'clients that do not read their answers were ended')
      },
      Math.max(0, this.#loggedAt + logInterval - performance.now()),
    ).unref()
  }
}

const followers = new WeakMap<object, UnreadResponses>()

/** Sends a large answer in pieces. A connection that nobody follows gets it whole. */
export function endInPieces(sending: Sending, content: string | Uint8Array, bytes: number): void {
  const { outgoing } = sending
  const { socket } = outgoing
  const answers = socket ? followers.get(socket) : undefined
  if (socket === undefined || socket === null || answers === undefined) {
    sending.sentBytes = bytes
    outgoing.end(content)
    return
  }
  // A text of as many bytes as letters is ASCII.
  const encoding = bytes === content.length ? 'latin1' : 'utf8'
  let rest: Iterator<string | Uint8Array> = piecesOf(content)
  // Bytes may be the application's own, for all readers.
  let isApart = typeof content !== 'string'
  const drop = (): void => {
    rest = [].values()
  }
  const unread = answers.add(socket, bytes, drop)
  outgoing.once('close', () => {
    drop()
    answers.remove(unread)
  })
  // A piece of a text keeps all of it, so that who stops near the end would hold the whole.
  const holdNoMore = (): void => {
    if (isApart || queuedBytes(socket) === 0) return
    isApart = true
    rest = apart(rest, encoding)
  }
  const send = (): void => {
    while (!outgoing.destroyed) {
      const next = rest.next()
      if (next.done === true) break
      const part = next.value
      const size = typeof part === 'string' ? Buffer.byteLength(part, encoding) : part.length
      sending.sentBytes += size
      const goesOn =
        typeof part === 'string' ? outgoing.write(part, encoding) : outgoing.write(part)
      answers.took(unread, size)
      if (goesOn) continue
      outgoing.once('drain', send)
      // Node hands it on in the next tick.
      if (!isApart) process.nextTick(holdNoMore)
      return
    }
    outgoing.end()
  }
  sending.sentBytes = 0
  send()
}

function* piecesOf(content: string | Uint8Array): Generator<string | Uint8Array> {
  for (let at = 0; at < content.length;) {
    const end = endOfPiece(content, at)
    yield typeof content === 'string' ? content.slice(at, end) : content.subarray(at, end)
    at = end
  }
}

/** Each with memory of its own, which is free when it was sent. */
function apart(
  pieces: Iterator<string | Uint8Array>,
  encoding: 'latin1' | 'utf8',
): Iterator<Uint8Array> {
  const copies: Uint8Array[] = []
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    copies.push(typeof next.value === 'string' ? Buffer.from(next.value, encoding) : next.value)
  }
  return emptying(copies.reverse())
}

function* emptying(pieces: Uint8Array[]): Generator<Uint8Array> {
  for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) yield next
}

/** Not between the halves of a letter. */
function endOfPiece(content: string | Uint8Array, at: number): number {
  const end = Math.min(content.length, at + piece)
  if (typeof content !== 'string' || end === content.length) return end
  const last = content.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/** What Node has handed on and the system has not taken: it shrinks while a large answer flows slowly. */
export function queuedBytes(socket: object): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
