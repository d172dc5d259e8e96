/** Passes each item of an iterator on in another form. */

/**
 * Not a generator: a generator that waits for the next item handles `return()` only after it, so an abandoned iterator
 * would stay open until its next item.
 *
 * @param last comes behind its items
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

/** The subscriptions that are open at an instance, so that they can be ended before their clients leave. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()
  #isClosed = false

  get size(): number {
    return this.#ends.size
  }

  /**
   * Passes the items on until they end, its reader leaves, or `close` is called. Ends at once where it is closed.
   *
   * Not a generator, and no race with one promise that ends them all: the first cannot be left while it waits, and such
   * a promise would hold on to every item's.
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
        // Before the end, which would tell its reader that there is nothing more.
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

  /** Takes new ones again. */
  open(): void {
    this.#isClosed = false
  }
}
