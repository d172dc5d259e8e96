/**
 * Open event streams and other endless responses: limits their number, and ends them when the application closes, or
 * their token is revoked or expires.
 */
import { AddressCounts, addressKey } from '../core/address-counts.js'
import type { Expiries } from '../core/time.js'
import type { ChunkReader } from './chunk-reader.js'
import type { Ending } from './ending.js'
import { EventResponse, type EventResponseOwner, type EventSource } from './event-source.js'
import type { RespondingRequest } from './pending-response.js'
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

export class StreamRegister implements EventResponseOwner {
  readonly #options: StreamRegisterOptions
  readonly #byAddress = new AddressCounts()
  #open = 0

  constructor(options: StreamRegisterOptions) {
    this.#options = options
  }

  /**
   * Counts a stream until it has ended, failed or been cancelled.
   *
   * @param isEndless whether the end of the application and of its token ends it; of other streams, only new ones are rejected
   * @throws {HttpError} 429 if its address has too many, 503 if there are too many; then the reader is cancelled
   */
  admit(
    { ip, auth, caller }: Pick<ServerRequest, 'ip' | 'auth' | 'caller'>,
    reader: ChunkReader,
    isEndless: boolean,
  ): ChunkReader {
    const { ending, watch, expiries } = this.#options
    const address = this.#count(ip, reader)
    const counted = new CountedReader(reader, () => {
      this.#uncount(address)
      ending.delete(counted.end)
      unwatch?.()
      forget?.()
    })
    const claims = auth?.claims
    const unwatch = claims ? watch?.(claims, counted.end) : undefined
    // A response that ends by itself, such as a file, continues, because it was requested in time.
    const forget = isEndless ? expiries?.add(caller.until, counted.end) : undefined
    if (isEndless) ending.add(counted.end)
    return counted
  }

  /** As `admit`, for a source that ends when its caller's token is revoked or expires. @returns its response */
  admitSource(
    request: RespondingRequest & Pick<ServerRequest, 'ip'>,
    source: EventSource,
  ): EventResponse {
    const response = new EventResponse(request, source, this.#count(request.ip, source), this)
    this.#options.ending.add(response.stop)
    return response
  }

  removeSource(response: EventResponse): void {
    this.#uncount(response.address)
    this.#options.ending.delete(response.stop)
  }

  /** @returns the name of the address */
  #count(ip: string, stream: { cancel(): void }): string {
    const { streams, streamsByAddress } = this.#options
    const address = addressKey(ip)
    const isOver = this.#byAddress.of(address) >= streamsByAddress
    if (isOver || this.#open >= streams) {
      stream.cancel()
      throw streamRefusal(isOver ? 'address' : 'application')
    }
    this.#open++
    this.#byAddress.add(address)
    return address
  }

  #uncount(address: string): void {
    this.#open--
    this.#byAddress.remove(address)
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
