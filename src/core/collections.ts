/** Collections that `Map` and `Set` do not cover: a list for items that come and go, a cache with a maximum size, and groups. */

/** An item of one `LinkedList`, which sets these fields. */
export interface ListItem<T> {
  previous: T | undefined
  next: T | undefined
  isListed: boolean
}

/** The fields of an item that is in no list, to create items with. */
export const unlisted = { previous: undefined, next: undefined, isListed: false } as const

/**
 * A list of things that come and go, such as running requests. A `Set` that lives long is worse for them: V8 replaces its
 * table again and again, and each old table refers to the next one. Once an old table has moved to the old generation,
 * everything that was ever in the set survives the minor garbage collections, which become ten times as expensive.
 */
export class LinkedList<T extends ListItem<T>> {
  #first: T | undefined
  #last: T | undefined
  #size = 0

  get first(): T | undefined {
    return this.#first
  }

  get size(): number {
    return this.#size
  }

  /** Appends an item. Does nothing if the list has it already. An item can be in one list only. */
  add(item: T): void {
    if (item.isListed) return
    item.isListed = true
    item.previous = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
    this.#size++
  }

  /** Removes an item of this list. Does nothing if the item was removed before. */
  delete(item: T): void {
    if (!item.isListed) return
    const { previous, next } = item
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.isListed = false
    item.previous = undefined
    item.next = undefined
    this.#size--
  }

  /** Removes the first item and returns it. */
  shift(): T | undefined {
    const first = this.#first
    if (first !== undefined) this.delete(first)
    return first
  }

  /** The items at this time, in the order in which they were added. */
  toArray(): T[] {
    const items: T[] = []
    for (let item = this.#first; item !== undefined; item = item.next) items.push(item)
    return items
  }
}

/** A bounded cache for values that are costly to compute. When it is full, the oldest entry is dropped. */
export class BoundedCache<V> {
  readonly #values = new Map<string, V>()
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get(key: string, make: () => V): V {
    const cached = this.#values.get(key)
    if (cached !== undefined) return cached
    if (this.#values.size >= this.#maxEntries) {
      for (const oldest of this.#values.keys()) {
        this.#values.delete(oldest)
        break
      }
    }
    const value = make()
    this.#values.set(key, value)
    return value
  }

  delete(key: string): void {
    this.#values.delete(key)
  }
}

/** The items by their keys, in the order in which they came. As `Map.groupBy`, which Node 20 lacks. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
