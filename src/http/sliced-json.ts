/**
 * JSON of long lists, written in turns of the event loop, so that others are answered in between: one answer after the
 * other, a piece each turn. While one is being written, handlers whose answers were large begin one a turn, since what
 * they return waits in memory. So do those behind any other large answer, which was made at once: requests that come
 * together shall hold up others for one of them, not for all. Source: docs/performance.md, "Long lists".
 */
import { writeFor } from './answered-json.js'
import type { ServerRequest } from './server-request.js'

/** Elements of a list that is written at once, and the most that are written without a look at their length. */
const [shortList, maxElementsPerSlice] = [500, 250]
/** Letters that are written at once, and in each later turn. */
const [firstSliceLength, sliceLength] = [256 * 1024, 32 * 1024]
/** Lists that are being written before more handlers begin, and before the next is written at once. */
const [maxPendingLists, maxWaitingLists] = [2, 16]

/** Whether an answer may be long enough for `listInTurns`. */
export function isLongList(data: unknown): data is readonly unknown[] {
  return Array.isArray(data) && data.length > shortList && !('toJSON' in data)
}

/** A list of which a part has been written. */
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

  /** @returns the whole text once it is written */
  write(letters: number): string | undefined {
    const targetLength = this.#text.length + letters
    const { length } = this.#list
    while (this.#at < length && this.#text.length < targetLength) {
      const average = this.#at === 0 ? letters / 16 : this.#text.length / this.#at
      const count = Math.min(maxElementsPerSlice, Math.ceil(letters / 8 / average))
      const part = this.#list.slice(this.#at, this.#at + count)
      const text = writeFor(this.#request, this.#toJson, part)
      this.#text += this.#at === 0 ? text.slice(0, -1) : `,${text.slice(1, -1)}`
      this.#at += part.length
    }
    return this.#at < length ? undefined : `${this.#text}]`
  }
}

interface Waiting {
  readonly writing: ListWriter
  readonly done: (text: string) => void
  readonly failed: (error: unknown) => void
}

/** Those of this process: they share its event loop. */
class WriteScheduler {
  readonly #waiting: Waiting[] = []
  readonly #handlers: (() => void)[] = []
  /** What has given a large answer. */
  readonly #large = new WeakSet<object>()
  #isScheduled = false

  get isBusy(): boolean {
    return this.#isScheduled
  }

  isLarge(route: object | undefined): boolean {
    return route !== undefined && this.#large.has(route)
  }

  /** A large answer was made: the next of this route is made in a later turn. */
  recordLarge(route: object | undefined): void {
    if (route === undefined) return
    this.#large.add(route)
    this.#schedule()
  }

  /** @returns when a handler whose answers are large may begin */
  begin(): Promise<void> {
    return new Promise((resolve) => {
      this.#handlers.push(resolve)
    })
  }

  add(writing: ListWriter, route: object | undefined): string | Promise<string> {
    if (route !== undefined) this.#large.add(route)
    // More would hold too many rows: their handlers were all under way before.
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

  #isDone({ writing, done, failed }: Waiting): boolean {
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

export const writeScheduler = new WriteScheduler()

/**
 * @param toJson of a list
 * @returns the text at once where it is short; the list is that of now, its elements are written as they are then
 */
export function writeLongList(
  request: ServerRequest,
  toJson: (value: unknown) => string,
  list: readonly unknown[],
): string | Promise<string> {
  const writing = new ListWriter(request, toJson, list.slice())
  return writing.write(firstSliceLength) ?? writeScheduler.add(writing, request.route)
}
