/**
 * Collects the chunks of a body. A buffer costs more than a hundred bytes in addition to its own, so small chunks are copied
 * into blocks. Source: decisions, Security limits.
 */

/** Chunks of at least this size are stored as they are. */
const minOwnBytes = 16 * 1024
const [minBlockBytes, maxBlockBytes] = [512, 64 * 1024]

export class ChunkList {
  readonly #complete: Buffer[] = []
  #block: Buffer | undefined
  /** Bytes of the block that are in use. */
  #used = 0
  #length = 0

  add(chunk: Buffer): void {
    const size = chunk.length
    if (size >= minOwnBytes) {
      this.#completeBlock()
      this.#complete.push(chunk)
    } else this.#copy(chunk)
    this.#length += size
  }

  /** @returns all bytes. If there is a single chunk, it may be the chunk itself */
  join(): Buffer {
    this.#completeBlock()
    const [only, ...others] = this.#complete
    return only !== undefined && others.length === 0
      ? only
      : Buffer.concat(this.#complete, this.#length)
  }

  /** The blocks grow with the list, so that few bytes reserve little memory. */
  #copy(chunk: Buffer): void {
    if (this.#block === undefined || this.#used + chunk.length > this.#block.length) {
      this.#completeBlock()
      const size = Math.min(maxBlockBytes, Math.max(minBlockBytes, this.#length))
      this.#block = Buffer.allocUnsafeSlow(Math.max(size, chunk.length))
    }
    chunk.copy(this.#block, this.#used)
    this.#used += chunk.length
  }

  #completeBlock(): void {
    if (this.#block === undefined) return
    this.#complete.push(this.#block.subarray(0, this.#used))
    this.#block = undefined
    this.#used = 0
  }
}
