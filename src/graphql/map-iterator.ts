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
