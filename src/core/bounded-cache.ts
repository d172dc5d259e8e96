/** A bounded memory of what is costly to make; when it is full, the oldest entry is dropped. */
export class Kept<V> {
  readonly #values = new Map<string, V>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get(key: string, make: () => V): V {
    const known = this.#values.get(key)
    if (known !== undefined) return known
    if (this.#values.size >= this.#most) {
      for (const oldest of this.#values.keys()) {
        this.#values.delete(oldest)
        break
      }
    }
    const made = make()
    this.#values.set(key, made)
    return made
  }
}
