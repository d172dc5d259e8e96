/** Async iterators of subscriptions: mapping their items, and ending them before their clients disconnect. */

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
