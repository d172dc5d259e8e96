/** Passes each item of a source on in another form. */

/**
 * Not a generator: one that waits for the next item would take `return()` only behind it, and a source that nobody
 * listens to any more would stay open until it speaks again.
 *
 * @param last comes behind the source's items
 */
export function mapIterator<T, R>(
  source: AsyncIterator<T>,
  map: (item: T) => R,
  last: readonly R[] = [],
): AsyncIterableIterator<R> {
  const rest = [...last]
  let ended = false
  const iterator: AsyncIterableIterator<R> = {
    next: async () => {
      if (!ended) {
        const result = await source.next()
        if (result.done !== true) return { value: map(result.value), done: false }
        ended = true
      }
      const value = rest.shift()
      return value === undefined ? { value: undefined, done: true } : { value, done: false }
    },
    return: async () => {
      ended = true
      rest.length = 0
      await source.return?.()
      return { value: undefined, done: true }
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}
