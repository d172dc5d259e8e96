/**
 * Writes the bodies of responses: values as JSON, and text in one write. Long JSON lists are written in slices of the
 * event loop, so that other requests are served in between. While a list is being written, handlers with large responses
 * start one per turn, because their results wait in memory. The same applies after any other large response that was
 * written in one piece. Source: docs/performance.md, "Long lists".
 */

import type { ServerRequest } from './server-request.js'
import { endInPieces, largeAnswer } from './unread-responses.js'
import type { RespondingRequest } from './pending-response.js'

/** Prototypes of instances that are plain JSON data, such as checked inputs and records. */
const dataPrototypes = new WeakSet<object>()

/** From now on, `isPlainData` is true for instances of the same class. */
export function rememberData(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  const prototype = Object.getPrototypeOf(body) as object | null
  if (prototype !== null) dataPrototypes.add(prototype)
}

/** Lists, plain objects and instances known to be data, which nearly all results are. Iterables are streams, not data. */
export function isPlainData(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype !== Object.prototype && (prototype === null || !dataPrototypes.has(prototype))) {
    return false
  }
  return !(Symbol.asyncIterator in value) && !(Symbol.iterator in value)
}

/** @throws {TypeError} for values without JSON */
export function toJson(data: unknown): string {
  // The types promise text; functions and symbols give none.
  const content = JSON.stringify(data) as string | undefined
  if (content === undefined) {
    throw new TypeError(
      `A handler returned a ${typeof data}, which has no JSON. Return plain data.`,
    )
  }
  // Recognized by its tag, because naming the class would load the platform's fetch, a tenth of the start of a small
  // program.
  if (content === '{}' && Object.prototype.toString.call(data) === '[object Response]') {
    throw new TypeError(
      'A handler returned a web Response. Return its body, or reply(body, status).',
    )
  }
  return content
}

let current: ServerRequest | undefined
let dependsOnCaller = false

/**
 * The request whose response is being written as JSON, for a class whose JSON depends on the caller; undefined outside of
 * responses.
 */
export function currentJsonRequest(): ServerRequest | undefined {
  if (current !== undefined) current.response.jsonDependsOnCaller = true
  return current
}

/**
 * Call this if the JSON of a class depends on the caller. Only then does `currentJsonRequest` return a request, in the
 * whole process, because any handler may return an instance of the class.
 */
export function trackJsonRequest(): void {
  dependsOnCaller = true
}

/** Writes the JSON of a response synchronously. */
export function writeFor(
  request: ServerRequest | undefined,
  write: (value: unknown) => string,
  value: unknown,
): string {
  if (!dependsOnCaller) return write(value)
  const outer = current
  current = request
  try {
    return write(value)
  } finally {
    current = outer
  }
}

/** The maximum number of elements of a list that is written in one piece, and of a slice. */
const [shortList, maxElementsPerSlice] = [500, 250]
/** The number of characters of the first slice, and of each later one. */
const [firstSliceLength, sliceLength] = [256 * 1024, 32 * 1024]
/**
 * While more lists than the first number are being written, handlers wait. With more waiting lists than the second
 * number, lists are written in one piece.
 */
const [maxPendingLists, maxWaitingLists] = [2, 16]

/** Whether a list is long enough for slices. */
export function isLongList(data: unknown): data is readonly unknown[] {
  return Array.isArray(data) && data.length > shortList && !('toJSON' in data)
}

/** A partly written list. */
class ListWriter {
  readonly #request: ServerRequest
  readonly #toJson: (value: unknown) => string
  readonly #list: readonly unknown[]
  #at = 0
  #text = ''

  constructor(
    request: ServerRequest,
    toJson: (value: unknown) => string,
    list: readonly unknown[],
  ) {
    this.#request = request
    this.#toJson = toJson
    this.#list = list
  }

  get isNeeded(): boolean {
    return !this.#request.outgoing.destroyed
  }

  /**
   * Writes about this number of characters.
   *
   * @returns the complete text after the last slice
   */
  write(length: number): string | undefined {
    const targetLength = this.#text.length + length
    const { length: listLength } = this.#list
    while (this.#at < listLength && this.#text.length < targetLength) {
      const average = this.#at === 0 ? length / 16 : this.#text.length / this.#at
      const count = Math.min(maxElementsPerSlice, Math.ceil(length / 8 / average))
      const part = this.#list.slice(this.#at, this.#at + count)
      const text = writeFor(this.#request, this.#toJson, part)
      this.#text += this.#at === 0 ? text.slice(0, -1) : `,${text.slice(1, -1)}`
      this.#at += part.length
    }
    return this.#at < listLength ? undefined : `${this.#text}]`
  }
}

interface WaitingList {
  readonly writing: ListWriter
  readonly done: (text: string) => void
  readonly failed: (error: unknown) => void
}

/** Schedules the lists of this process, which share its event loop. */
class WriteScheduler {
  readonly #waiting: WaitingList[] = []
  readonly #handlers: (() => void)[] = []
  /** Routes with large responses. */
  readonly #large = new WeakSet<object>()
  #isScheduled = false

  get isBusy(): boolean {
    return this.#isScheduled
  }

  isLarge(route: object | undefined): boolean {
    return route !== undefined && this.#large.has(route)
  }

  /** Records a large response: the next one of this route is created in a later turn. */
  recordLarge(route: object | undefined): void {
    if (route === undefined) return
    this.#large.add(route)
    this.#schedule()
  }

  /** @returns a promise that resolves when a handler with large responses may start */
  begin(): Promise<void> {
    return new Promise((resolve) => {
      this.#handlers.push(resolve)
    })
  }

  add(writing: ListWriter, route: object | undefined): string | Promise<string> {
    if (route !== undefined) this.#large.add(route)
    // More lists would hold too many rows in memory.
    if (this.#waiting.length >= maxWaitingLists) return writing.write(Infinity) ?? ''
    return new Promise((done, failed) => {
      this.#waiting.push({ writing, done, failed })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#runSlice)
  }

  readonly #runSlice = (): void => {
    const [first] = this.#waiting
    if (first !== undefined && this.#isDone(first)) this.#waiting.shift()
    if (this.#waiting.length < maxPendingLists) this.#handlers.shift()?.()
    this.#isScheduled = this.#waiting.length > 0 || this.#handlers.length > 0
    if (this.#isScheduled) setImmediate(this.#runSlice)
  }

  #isDone({ writing, done, failed }: WaitingList): boolean {
    try {
      const text = writing.isNeeded ? writing.write(sliceLength) : ''
      if (text === undefined) return false
      done(text)
    } catch (error) {
      failed(error)
    }
    return true
  }
}

const writeScheduler = new WriteScheduler()

interface HandlerRoute {
  readonly info: object | undefined
  readonly invoke: (request: ServerRequest) => unknown
}

/** Runs a handler. If its responses are large, it waits for a slot while another large response is being written. */
export function invokeScheduled(route: HandlerRoute, request: ServerRequest): unknown {
  if (!writeScheduler.isBusy || !writeScheduler.isLarge(route.info)) return route.invoke(request)
  return writeScheduler
    .begin()
    .then(() => (request.isOver || request.isTimedOut ? undefined : route.invoke(request)))
}

/**
 * @param toJson writes the JSON of a list
 *
 * @returns the text, synchronously for a short list. Elements that change during the writing are written in their state
 * at that time
 */
export function writeLongList(
  request: ServerRequest,
  toJson: (value: unknown) => string,
  list: readonly unknown[],
): string | Promise<string> {
  const writing = new ListWriter(request, toJson, list.slice())
  return writing.write(firstSliceLength) ?? writeScheduler.add(writing, request.route)
}

/**
 * Ends a response with its body. `end(text)` would pass two pieces to the kernel, the second one empty, which costs a
 * small response a seventh of its processor time. Corked, head and text leave as one string.
 *
 * @param bytes the length of `content` in bytes
 */
export function endWith(
  request: RespondingRequest,
  content: string | Uint8Array,
  bytes: number,
): void {
  if (bytes >= largeAnswer) {
    writeScheduler.recordLarge(request.route)
    endInPieces(request, content, bytes)
    return
  }
  const { outgoing } = request
  request.response.sentBytes = bytes
  const { socket } = outgoing
  // No socket: a fake response, a disconnected client, or a response that waits for earlier ones on its connection.
  if (typeof content !== 'string' || socket === undefined || socket === null) {
    outgoing.end(content)
    return
  }
  socket.cork()
  // A text with as many bytes as characters is ASCII, which needs no encoding.
  outgoing.write(content, bytes === content.length ? 'latin1' : 'utf8')
  socket.uncork()
  outgoing.end()
}
