/**
 * Sends large responses in pieces, each after the previous one was accepted. The total of unread bytes is limited:
 * above the limit the slowest responses are aborted, so that clients that stop reading cannot fill the memory. Source:
 * docs/configuration.md, "Bounds".
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Writable } from 'node:stream'
import { LinkedList, unlisted, type ListItem } from '../core/collections.js'
import type { Log } from '../core/log.js'
import type { RespondingRequest } from './pending-response.js'

let collect: (() => void) | undefined

/**
 * Collects garbage immediately, because the collector runs late after many buffers were dropped at the same time. Does
 * nothing if the runtime does not support it. Source: Node.js, v8.setFlagsFromString.
 */
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

/** Smaller responses are written in one piece. */
export const largeAnswer = 256 * 1024
/** Bytes, or characters, of a piece. */
const piece = 128 * 1024
/** Milliseconds for which a client may read nothing before its response is aborted in favor of others. */
const grace = 500
/** Above this multiple of the limit there is no grace. */
const maxFactor = 1.5
/** Milliseconds between two checks above the limit, and between two lines of the log. */
const [checkInterval, logInterval] = [200, 10_000]

/** Bytes of aborted responses after which garbage is collected. */
const maxDropped = 32 * 1024 * 1024

/** A large response whose client has not read everything. */
interface Unread extends ListItem<Unread> {
  readonly socket: Writable
  bytes: number
  /** The time of the last accepted bytes. */
  movedAt: number
  /** Releases the rest of the response. */
  readonly drop: () => void
}

/** The large responses of a server that clients have not read completely. */
export class UnreadResponses {
  readonly #maxBytes: number
  readonly #log: Log
  readonly #all = new LinkedList<Unread>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #ended = 0
  #dropped = 0
  #stalled = 0
  #logTimer: NodeJS.Timeout | undefined
  #loggedAt = -Infinity

  /** @param maxBytes the maximum total of unread bytes */
  constructor(maxBytes: number, log: Log) {
    this.#maxBytes = maxBytes
    this.#log = log
  }

  /** Counts the responses of this connection, and of its server's other ones. */
  follow(socket: object): void {
    followers.set(serverOf(socket), this)
  }

  /** Counts a connection that was closed because its client read nothing for too long. */
  countStalled(): void {
    this.#stalled++
    this.#scheduleLog()
  }

  add(socket: Writable, bytes: number, drop: () => void): Unread {
    const unread: Unread = { socket, bytes, movedAt: performance.now(), drop, ...unlisted }
    this.#all.add(unread)
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) this.#relieve()
    return unread
  }

  took(unread: Unread, bytes: number): void {
    unread.bytes -= bytes
    unread.movedAt = performance.now()
    this.#bytes -= bytes
    // Moves it to the end: the order is by the time of waiting.
    this.#all.delete(unread)
    this.#all.add(unread)
  }

  remove(unread: Unread): void {
    if (!unread.isListed) return
    this.#all.delete(unread)
    this.#bytes -= unread.bytes
  }

  #relieve(): void {
    const now = performance.now()
    while (this.#bytes > this.#maxBytes) {
      const unread = this.#all.first
      if (unread === undefined) break
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
      // Immediately, because the next responses may be created in this turn of the event loop.
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

  /** Logs immediately, then at most every ten seconds, with the number of aborted responses. */
  #scheduleLog(): void {
    this.#logTimer ??= setTimeout(
      () => {
        this.#logTimer = undefined
        this.#loggedAt = performance.now()
        const counts = { ended: this.#ended, stalled: this.#stalled, unread: this.#bytes }
        this.#ended = 0
        this.#stalled = 0
        this.#log.warn(counts, 'clients that do not read their responses were disconnected')
      },
      Math.max(0, this.#loggedAt + logInterval - performance.now()),
    ).unref()
  }
}

/** By server, because an entry for each connection would take memory while it is idle. */
const followers = new WeakMap<object, UnreadResponses>()

/** Node's field for the server of a connection. */
function serverOf(socket: object): object {
  return (socket as { readonly server?: object | null }).server ?? socket
}

/** Sends a large response in pieces. An untracked connection gets it in one piece. */
export function endInPieces(
  request: RespondingRequest,
  content: string | Uint8Array,
  bytes: number,
): void {
  const { outgoing } = request
  const { socket } = outgoing
  const answers = socket ? followers.get(serverOf(socket)) : undefined
  if (socket === undefined || socket === null || answers === undefined) {
    request.response.sentBytes = bytes
    outgoing.end(content)
    return
  }
  // A text with as many bytes as characters is ASCII.
  const encoding = bytes === content.length ? 'latin1' : 'utf8'
  let rest: Iterator<string | Uint8Array> = piecesOf(content)
  // Bytes may belong to the application, which sends them to many clients, so they are not copied.
  let isApart = typeof content !== 'string'
  const drop = (): void => {
    rest = [].values()
  }
  const unread = answers.add(socket, bytes, drop)
  outgoing.once('close', () => {
    drop()
    answers.remove(unread)
  })
  // A slice of a string keeps the complete string in memory, even for a client that stops reading near the end.
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
      request.response.sentBytes += size
      const goesOn =
        typeof part === 'string' ? outgoing.write(part, encoding) : outgoing.write(part)
      answers.took(unread, size)
      if (goesOn) continue
      outgoing.once('drain', send)
      // Node hands it to the system in the next tick.
      if (!isApart) process.nextTick(holdNoMore)
      return
    }
    outgoing.end()
  }
  request.response.sentBytes = 0
  send()
}

function* piecesOf(content: string | Uint8Array): Generator<string | Uint8Array> {
  for (let at = 0; at < content.length;) {
    const end = endOfPiece(content, at)
    yield typeof content === 'string' ? content.slice(at, end) : content.subarray(at, end)
    at = end
  }
}

/** Copies each piece, so that its memory is released after it was sent. */
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

/** Removes each piece when it is taken, so that its memory is released. */
function* emptying(pieces: Uint8Array[]): Generator<Uint8Array> {
  for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) yield next
}

/** Never splits a character. */
function endOfPiece(content: string | Uint8Array, at: number): number {
  const end = Math.min(content.length, at + piece)
  if (typeof content !== 'string' || end === content.length) return end
  const last = content.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/**
 * Bytes that Node has passed on and the system has not accepted. The number decreases while a large response flows
 * slowly.
 */
export function queuedBytes(socket: object): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
