/** The bytes of a multipart body, counted. */
import { Readable } from 'node:stream'
import type { Incoming } from '../node-messages.js'
import { clientLeft, ignoreFailure, tooLarge } from './collect.js'

/**
 * The body's bytes with the back-pressure of whoever reads them. Destroyed, it lets go of the request and leaves it
 * paused. Fails with 413 or `CLIENT_GONE`.
 */
export class MultipartInput extends Readable {
  readonly #incoming: Incoming
  readonly #limit: number
  #total = 0
  #ended = false

  /** @param limit most bytes of the whole body; more of them are 413 */
  constructor(incoming: Incoming, limit: number) {
    super()
    this.#incoming = incoming
    this.#limit = limit
    incoming.on('data', this.#onData).on('end', this.#onEnd)
    incoming.on('close', this.#onClose).on('error', this.#onError)
    incoming.pause()
    if (incoming.destroyed) this.destroy(clientLeft())
  }

  override _read(): void {
    this.#incoming.resume()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const incoming = this.#incoming
    incoming.off('data', this.#onData).off('end', this.#onEnd)
    incoming.off('close', this.#onClose).off('error', this.#onError)
    incoming.on('error', ignoreFailure)
    if (!this.#ended) incoming.pause()
    callback(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#total += chunk.length
    if (this.#total > this.#limit) this.destroy(tooLarge('The body', this.#limit))
    else if (!this.push(chunk)) this.#incoming.pause()
  }

  readonly #onEnd = (): void => {
    this.#ended = true
    this.push(null)
  }

  readonly #onClose = (): void => {
    if (!this.#ended) this.destroy(clientLeft())
  }

  readonly #onError = (cause: Error): void => {
    if (!this.#ended) this.destroy(clientLeft(cause))
  }
}
