/**
 * The headers of a response. They are one flat list, names and values in turn, which `writeHead` sends fastest. Only this
 * class knows the layout of the list. It does not check headers: `header-checks.ts` does.
 */

/** Headers that may occur in a response more than once. */
const repeatable = /^(?:set-cookie|vary|link|www-authenticate)$/i

/** Where the values of `Content-Type` and `Content-Length` are in a list of `forTexts`. */
const [typeIndex, lengthIndex] = [1, 3]

export class HeaderList implements Iterable<readonly [name: string, value: string]> {
  /** Names and values in turn, for `writeHead`. */
  readonly flat: string[]
  /** The list whose headers `collect` has added last, and how many entries it had. */
  #collected: HeaderList | undefined = undefined
  #collectedLength = 0

  /** @param flat names and values in turn. The list belongs to this object from now on */
  constructor(flat: string[] = []) {
    this.flat = flat
  }

  static from(headers: Readonly<Record<string, string>>): HeaderList {
    return new HeaderList(Object.entries(headers).flat())
  }

  /** A list that `copyForText` copies, because nearly every response is a text with the same headers. */
  static forTexts(more: Iterable<readonly [string, string]>): HeaderList {
    return new HeaderList(['Content-Type', '', 'Content-Length', '', ...[...more].flat()])
  }

  /** Copies a list of `forTexts`. @param length bytes */
  copyForText(type: string, length: number): HeaderList {
    const flat = this.flat.slice()
    flat[typeIndex] = type
    flat[lengthIndex] = String(length)
    return new HeaderList(flat)
  }

  copy(): HeaderList {
    const copy = new HeaderList(this.flat.slice())
    copy.#collected = this.#collected
    copy.#collectedLength = this.#collectedLength
    return copy
  }

  get isEmpty(): boolean {
    return this.flat.length === 0
  }

  /** True if this is the only header. @param name as written */
  hasOnly(name: string): boolean {
    return this.flat.length === 2 && this.flat[0] === name
  }

  has(name: string): boolean {
    return this.#indexOf(name) !== -1
  }

  /** @param name in any case, here and in all other methods. @returns the first value */
  first(name: string): string | undefined {
    const index = this.#indexOf(name)
    return index === -1 ? undefined : this.flat[index + 1]
  }

  /** @returns all values, joined by `, ` */
  get(name: string): string | undefined {
    let joined: string | undefined
    for (let index = this.#indexOf(name); index !== -1; index = this.#indexOf(name, index + 2)) {
      const value = this.flat[index + 1] ?? ''
      joined = joined === undefined ? value : `${joined}, ${value}`
    }
    return joined
  }

  /** Adds a header at the end. */
  add(name: string, value: string): void {
    this.flat.push(name, value)
  }

  addAll(more: HeaderList): void {
    this.flat.push(...more.flat)
  }

  /** Replaces the header with the same name, or adds it at the end if it is new or may occur more than once. */
  set(name: string, value: string): void {
    const index = repeatable.test(name) ? -1 : this.#indexOf(name)
    if (index === -1) this.flat.push(name, value)
    else this.flat.splice(index, 2, name, value)
  }

  /** Replaces all values of a header by one, at the end. */
  replace(name: string, value: string): void {
    this.delete(name)
    this.flat.push(name, value)
  }

  /** Appends to the last value of a header: `value, more`. Does nothing without the header. */
  extendLast(name: string, more: string): void {
    for (let index = this.flat.length - 2; index >= 0; index -= 2) {
      if (this.flat[index] !== name) continue
      this.flat[index + 1] = `${this.flat[index + 1] ?? ''}, ${more}`
      return
    }
  }

  /** Removes all occurrences of a header. */
  delete(name: string): void {
    for (let index = this.#indexOf(name); index !== -1; index = this.#indexOf(name, index))
      this.flat.splice(index, 2)
  }

  /** Removes the headers whose names match. */
  deleteMatching(pattern: RegExp): void {
    for (let index = this.flat.length - 2; index >= 0; index -= 2) {
      if (pattern.test(this.flat[index] ?? '')) this.flat.splice(index, 2)
    }
  }

  /** Adds headers that the list does not have yet, and those that may occur more than once. */
  addMissing(more: HeaderList): void {
    this.#addMissing(more.flat, 0)
  }

  /**
   * As `addMissing`, for a list that grows: if the last call had the same list, only its new headers are added, so that a
   * header that was deleted since stays deleted.
   */
  collect(more: HeaderList): void {
    this.#addMissing(more.flat, this.#collected === more ? this.#collectedLength : 0)
    this.#collected = more
    this.#collectedLength = more.flat.length
  }

  /** @returns the values of `names` for the headers that the list has; undefined if it has none */
  namesIn(names: ReadonlyMap<string, string>): string[] | undefined {
    let found: string[] | undefined
    for (let index = 0; index < this.flat.length; index += 2) {
      const name = names.get(this.flat[index] ?? '')
      if (name !== undefined && found?.includes(name) !== true) (found ??= []).push(name)
    }
    return found
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    for (let index = 0; index + 1 < this.flat.length; index += 2)
      yield [this.flat[index] ?? '', this.flat[index + 1] ?? '']
  }

  #addMissing(more: readonly string[], from: number): void {
    for (let index = from; index + 1 < more.length; index += 2) {
      const name = more[index] ?? ''
      if (this.#indexOf(name) === -1 || repeatable.test(name))
        this.flat.push(name, more[index + 1] ?? '')
    }
  }

  /** The index of a header's name, whatever its case, or -1. */
  #indexOf(name: string, from = 0): number {
    const lowerName = name.toLowerCase()
    for (let index = from; index < this.flat.length; index += 2) {
      const present = this.flat[index] ?? ''
      if (present.length === name.length && present.toLowerCase() === lowerName) return index
    }
    return -1
  }
}
