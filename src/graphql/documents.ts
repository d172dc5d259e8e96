/**
 * Persisted documents: clients send the id of a document instead of its text. Source: GraphQL over HTTP, "Persisted
 * documents". Automatic persisted queries: a client sends the hash of a document, and its text only if the server does
 * not have it yet. Source: Apollo, Automatic persisted queries, version 1 of the protocol.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { HttpError } from '../errors/http-error.js'
import { graphqlCodes } from './errors.js'
import { isMap } from '../core/json.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'

/** The maximum number of automatic documents. The least recently used one is removed first. */
const maxDocuments = 1000
/** The maximum total length of automatic documents in characters. */
const maxCharacters = 4_194_304

/** The documents that clients have sent with their hashes. Stored in memory, for one endpoint. */
class AutomaticDocuments {
  readonly #texts = new Map<string, string>()
  #characters = 0

  find(hash: string): string | undefined {
    const text = this.#texts.get(hash)
    if (text === undefined) return undefined
    // Moves it to the end: the map is ordered by the last use.
    this.#texts.delete(hash)
    this.#texts.set(hash, text)
    return text
  }

  /** @throws {HttpError} 400 if the hash does not fit the text */
  store(hash: string, text: string): void {
    if (createHash('sha256').update(text).digest('hex') !== hash) {
      throw new HttpError(400, 'The hash does not match the document.', {
        code: graphqlCodes.request,
      })
    }
    if (this.#texts.has(hash) || text.length > maxCharacters) return
    this.#texts.set(hash, text)
    this.#characters += text.length
    for (const [oldest, old] of this.#texts) {
      if (this.#texts.size <= maxDocuments && this.#characters <= maxCharacters) return
      this.#texts.delete(oldest)
      this.#characters -= old.length
    }
  }
}

export const documentSource = declareOptions({
  /** The documents by id, or a path to a JSON file with them. */
  from: option.any<string | Readonly<Record<string, string>>>().default({}),
  /** No other document runs. Default false. */
  only: option.flag().default(false),
})

interface DocumentSource extends Readonly<OptionsOf<typeof documentSource>> {}

/** Documents by id, as an object or a path to a JSON file. With `only: true` no other document runs. */
export type DocumentsOption = string | Readonly<Record<string, string>> | DocumentSource

export interface PersistedDocuments {
  /** Whether the endpoint rejects all other documents. */
  readonly only: boolean
  find(id: string): string | undefined
  has(text: string): boolean
  /** Documents sent by clients with their hashes. `undefined` if only persisted documents run. */
  readonly automatic: AutomaticDocuments | undefined
}

/** @param problems receives a file that cannot be read or is not a JSON object of strings */
export function readDocuments(
  option: DocumentsOption | undefined,
  problems: Problems,
): PersistedDocuments {
  const isSource = typeof option === 'object' && isDocumentSource(option)
  const { from, only } = documentSource.read(isSource ? option : { from: option })
  const documents = typeof from === 'string' ? readFile(from, problems) : from
  const byId = new Map<string, string>()
  for (const [id, text] of Object.entries(documents)) {
    if (typeof text === 'string') byId.set(id.replace(/^sha256:/, ''), text)
    else problems.add(invalidDocuments(`GraphQL documents: "${id}" is not a string.`))
  }
  const texts = new Set(byId.values())
  return {
    only,
    find: (id) => byId.get(id.replace(/^sha256:/, '')),
    has: (text) => texts.has(text),
    automatic: only ? undefined : new AutomaticDocuments(),
  }
}

/**
 * Distinguishes `{ from, only }` from documents by id, one of which may have the id `from`: a source has a boolean
 * option, or an object as `from`, or nothing except `from`.
 */
export function isDocumentSource(option: object): boolean {
  const { from, ...otherOptions } = option as Readonly<Record<string, unknown>>
  const values = Object.values(otherOptions).filter((value) => value !== undefined)
  const hasOnlyFrom = from !== undefined && values.length === 0
  return hasOnlyFrom || isMap(from) || values.some((value) => typeof value === 'boolean')
}

function readFile(path: string, problems: Problems): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (isMap(read)) return { ...read }
    problems.add(invalidDocuments(`GraphQL documents: ${path} is not a JSON object.`))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    problems.add(invalidDocuments(`GraphQL documents: ${path} cannot be read: ${why}.`))
  }
  return {}
}

function invalidDocuments(message: string): Problem {
  return { code: 'INVALID_DOCUMENTS', message, remedy: 'Use a JSON object of documents by id.' }
}
