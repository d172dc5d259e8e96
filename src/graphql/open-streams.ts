/**
 * Async iterators of subscriptions: mapping their items, ending them before their clients disconnect, and limiting how many
 * get an event in one turn of the event loop.
 */

import { after } from '../core/maybe-promise.js'
import type { GraphqlField } from './declarations.js'

/**
 * Shares the event loop fairly: work that could all continue at the same time continues in slices, with other work in
 * between.
 */
export class EventLoopSlots {
  readonly #slice: number
  readonly #waiting: (() => void)[] = []
  /** Slots used in this turn of the event loop. */
  #usedSlots = 0
  #isScheduled = false

  /** @param slice number of callers that may continue in one turn of the event loop */
  constructor(slice: number) {
    this.#slice = slice
  }

  /**
   * @returns `undefined` if the caller may continue immediately; otherwise a promise that settles in a later turn, in
   * the order of the calls
   */
  take(): Promise<void> | undefined {
    this.#schedule()
    if (this.#usedSlots < this.#slice && this.#waiting.length === 0) {
      this.#usedSlots++
      return undefined
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#startNext)
  }

  readonly #startNext = (): void => {
    this.#isScheduled = false
    const next = this.#waiting.splice(0, this.#slice)
    this.#usedSlots = next.length
    if (next.length > 0) this.#schedule()
    for (const resume of next) resume()
  }
}

/**
 * Maps the items of an async iterator. Not a generator, because a generator handles `return()` only after the item that
 * it waits for, so that an abandoned iterator would stay open until its next item.
 *
 * @param last items to append at the end
 */
export function mapIterator<T, R>(
  items: AsyncIterator<T>,
  map: (item: T) => R,
  last: readonly R[] = [],
): AsyncIterableIterator<R> {
  const rest = [...last]
  let ended = false
  const iterator: AsyncIterableIterator<R> = {
    next: async () => {
      if (!ended) {
        const result = await items.next()
        if (result.done !== true) return { value: map(result.value), done: false }
        ended = true
      }
      const value = rest.shift()
      return value === undefined ? { value: undefined, done: true } : { value, done: false }
    },
    return: async () => {
      ended = true
      rest.length = 0
      await items.return?.()
      return { value: undefined, done: true }
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}

/** The open subscriptions of a `GraphQL` instance, to end them when the application stops. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()
  #isClosed = false

  get size(): number {
    return this.#ends.size
  }

  /**
   * Forwards the items until they end, the reader calls `return`, or `close` is called. Ends immediately if the streams
   * are closed already.
   *
   * Not a generator, which cannot be ended while it waits for an item. Not a race against one shared promise either,
   * because that promise would keep references to all items in memory.
   */
  track<T>(items: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
    const waiting = new Set<(result: IteratorResult<T>) => void>()
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      this.#ends.delete(end)
      for (const resolve of waiting) resolve({ value: undefined, done: true })
      items.return?.().catch(() => undefined)
    }
    const pull = async (
      resolve: (result: IteratorResult<T>) => void,
    ): Promise<IteratorResult<T>> => {
      try {
        const result = await items.next()
        if (result.done === true) end()
        return result
      } catch (error) {
        // Remove it before `end`, which would resolve it as done.
        waiting.delete(resolve)
        end()
        throw error
      }
    }
    const iterator: AsyncIterableIterator<T> = {
      next: () => {
        if (ended) return Promise.resolve({ value: undefined, done: true })
        return new Promise((resolve, reject) => {
          waiting.add(resolve)
          pull(resolve)
            .then(resolve, reject)
            .finally(() => waiting.delete(resolve))
        })
      },
      return: () => {
        end()
        return Promise.resolve({ value: undefined, done: true })
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    this.#ends.add(end)
    if (this.#isClosed) end()
    return iterator
  }

  /** Ends all streams, including streams that are opened later. */
  close(): void {
    this.#isClosed = true
    for (const end of this.#ends) end()
  }

  /** Accepts new streams again. */
  open(): void {
    this.#isClosed = false
  }
}

/**
 * Limits how many subscribers get an event in one turn of the event loop, because an event for a thousand subscribers would
 * block it. Shared by all subscriptions of the process: generated ones use it directly, hand-written ones by `sliceEvents`.
 */
export const subscriberSlots = new EventLoopSlots(8)

type Subscribe = NonNullable<GraphqlField['subscribe']>

/** Wraps `subscribe` so that each event waits for a slot. */
export function sliceEvents(subscribe: Subscribe): Subscribe {
  return (root, args, context, info) =>
    after(subscribe(root, args, context, info), (source) =>
      isIterable(source) ? new SlicedEvents(source) : source,
    )
}

class SlicedEvents implements AsyncIterableIterator<unknown> {
  readonly #events: AsyncIterator<unknown>

  constructor(source: AsyncIterable<unknown>) {
    this.#events = source[Symbol.asyncIterator]()
  }

  async next(): Promise<IteratorResult<unknown>> {
    const event = await this.#events.next()
    if (event.done !== true) await subscriberSlots.take()
    return event
  }

  return(): Promise<IteratorResult<unknown>> {
    return this.#events.return?.() ?? Promise.resolve({ value: undefined, done: true })
  }

  throw(error: unknown): Promise<IteratorResult<unknown>> {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown goes on as it is
    return this.#events.throw?.(error) ?? Promise.reject(error)
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** Anything else is rejected by graphql-js. */
function isIterable(source: unknown): source is AsyncIterable<unknown> {
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source
}
