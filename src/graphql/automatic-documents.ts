/**
 * Automatic persisted queries: a client sends a document's hash, and its text only where the server does not know it.
 * Source: Apollo, Automatic persisted queries, version 1 of the protocol.
 */
import { createHash } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import { graphqlCodes } from './error-codes.js'

/** Most documents that are kept; what was used longest ago goes first. */
const mostDocuments = 1000
/** Most characters of all of them. */
const mostCharacters = 4_194_304

/** The documents that clients have sent with their hashes, of one endpoint, until the process ends. */
export class AutomaticDocuments {
  readonly #texts = new Map<string, string>()
  #characters = 0

  find(hash: string): string | undefined {
    const text = this.#texts.get(hash)
    if (text === undefined) return undefined
    // Behind all others again.
    this.#texts.delete(hash)
    this.#texts.set(hash, text)
    return text
  }

  /** @throws {HttpError} 400 where the hash is another text's: nothing is kept then */
  keep(hash: string, text: string): void {
    if (createHash('sha256').update(text).digest('hex') !== hash) {
      throw new HttpError(400, 'The hash is not that of the document.', {
        code: graphqlCodes.request,
      })
    }
    if (this.#texts.has(hash) || text.length > mostCharacters) return
    this.#texts.set(hash, text)
    this.#characters += text.length
    for (const [oldest, old] of this.#texts) {
      if (this.#texts.size <= mostDocuments && this.#characters <= mostCharacters) return
      this.#texts.delete(oldest)
      this.#characters -= old.length
    }
  }
}
