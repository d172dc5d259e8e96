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
}
