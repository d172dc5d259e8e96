/**
 * Open event streams and other endless responses: limits their number, and ends them when the application closes, or
 * their token is revoked or expires.
 */
import { AddressCounts, addressKey } from '../core/address-counts.js'
import type { Expiries } from '../core/time.js'
import type { ChunkReader } from './chunk-reader.js'
import type { Ending } from './ending.js'
import { streamRefusal } from './refusals.js'
import type { Claims } from './request.js'
import type { ServerRequest } from './server-request.js'

export interface StreamRegisterOptions {
  /** The maximum number of streams. */
  readonly streams: number
  /** The maximum number of streams of one address. */
  readonly streamsByAddress: number
  readonly ending: Ending
  /**
   * Calls `end` once when a token with these claims is revoked. Default: never.
   *
   * @returns ends the watch
   */
  readonly watch?: (claims: Claims, end: () => void) => () => void
  /** Ends endless streams when their caller is not admitted any more. Default: never. */
  readonly expiries?: Expiries
}

export interface StreamKind {
  /** Whether the end of the application and of its token ends it. For other streams, only new ones are rejected. */
  readonly isEndless: boolean
  /** Whether the stream itself ends when its caller's token is revoked or expires. */
  readonly endsItself: boolean
}

export class StreamRegister {
  readonly #options: StreamRegisterOptions
  readonly #byAddress = new AddressCounts()
  #open = 0

  constructor(options: StreamRegisterOptions) {
    this.#options = options
  }

  /**
   * Counts a stream until it has ended, failed or been cancelled.
   *
   * @throws {HttpError} 429 if its address has too many, 503 if there are too many; then the reader is cancelled
   */
  admit(
    { ip, auth, caller }: Pick<ServerRequest, 'ip' | 'auth' | 'caller'>,
    reader: ChunkReader,
    { isEndless, endsItself }: StreamKind,
  ): ChunkReader {
    const { streams, streamsByAddress, ending, watch, expiries } = this.#options
    const key = addressKey(ip)
    const isOver = this.#byAddress.of(key) >= streamsByAddress
    if (isOver || this.#open >= streams) {
      reader.cancel()
      throw streamRefusal(isOver ? 'address' : 'application')
    }
    this.#open++
    this.#byAddress.add(key)
    const counted = new CountedReader(reader, () => {
      this.#open--
      this.#byAddress.remove(key)
      ending.delete(counted.end)
      unwatch?.()
      forget?.()
    })
    const claims = endsItself ? undefined : auth?.claims
    const unwatch = claims ? watch?.(claims, counted.end) : undefined
    // A response that ends by itself, such as a file, continues, because it was requested in time.
    const ends = isEndless && !endsItself
    const forget = ends ? expiries?.add(caller.until, counted.end) : undefined
    if (isEndless) ending.add(counted.end)
    return counted
  }
}

/** A reader that can be ended during a wait for its next chunk. */
class CountedReader implements ChunkReader {
  readonly #reader: ChunkReader
  readonly #leave: () => void
  #waiting: ((result: IteratorResult<unknown>) => void) | undefined
  #hasLeft = false

  constructor(reader: ChunkReader, leave: () => void) {
    this.#reader = reader
    this.#leave = leave
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#hasLeft) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve, reject) => {
      this.#waiting = resolve
      this.#pull().then(resolve, reject)
    })
  }

  cancel(): void {
    this.#forget()
    this.#reader.cancel()
  }

  /** Its reader sees an end like any other. */
  readonly end = (): void => {
    if (this.#hasLeft) return
    this.cancel()
    this.#waiting?.({ value: undefined, done: true })
  }

  async #pull(): Promise<IteratorResult<unknown>> {
    try {
      const result = await this.#reader.next()
      if (result.done === true) this.#forget()
      return result
    } catch (error) {
      this.#forget()
      throw error
    }
  }

  #forget(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#leave()
  }
}
