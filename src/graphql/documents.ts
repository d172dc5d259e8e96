/** Persisted documents: clients send a document's id in the place of its text. Source: GraphQL over HTTP, "Persisted documents". */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { HttpError } from '../errors/http-error.js'
import { graphqlCodes } from './errors.js'
import { isMap } from '../core/json.js'
import type { Problem } from '../errors/declaration-error.js'
import { rejectUnknownOptions } from '../errors/unknown-options.js'

/**
 * Automatic persisted queries: a client sends a document's hash, and its text only where the server does not know it.
 * Source: Apollo, Automatic persisted queries, version 1 of the protocol.
 */

/** Most documents that are kept; what was used longest ago goes first. */
const maxDocuments = 1000
/** Most characters of all of them. */
const maxCharacters = 4_194_304

/** The documents that clients have sent with their hashes, of one endpoint, until the process ends. */
class AutomaticDocuments {
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
  store(hash: string, text: string): void {
    if (createHash('sha256').update(text).digest('hex') !== hash) {
      throw new HttpError(400, 'The hash is not that of the document.', {
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

/** A JSON file of documents by id, or the map itself; `only` refuses documents that are not among them. */
export type DocumentsOption =
  | string
  | Readonly<Record<string, string>>
  | { readonly from: string | Readonly<Record<string, string>>; readonly only?: boolean }

export interface PersistedDocuments {
  /** True where nothing else runs through the endpoint. */
  readonly only: boolean
  find(id: string): string | undefined
  has(text: string): boolean
  /** What clients have sent with its hash; undefined where only persisted documents run. */
  readonly automatic: AutomaticDocuments | undefined
}

/** @param problems takes a file that cannot be read or holds something else */
export function readDocuments(
  option: DocumentsOption | undefined,
  problems: Problem[],
): PersistedDocuments {
  if (option === undefined) return readDocuments({}, problems)
  const { from = {}, only = false } = toSource(option)
  const documents = typeof from === 'string' ? readFile(from, problems) : from
  const byId = new Map<string, string>()
  for (const [id, text] of Object.entries(documents)) {
    if (typeof text === 'string') byId.set(id.replace(/^sha256:/, ''), text)
    else problems.push(invalidDocuments(`GraphQL documents: "${id}" is no text.`))
  }
  const texts = new Set(byId.values())
  return {
    only,
    find: (id) => byId.get(id.replace(/^sha256:/, '')),
    has: (text) => texts.has(text),
    automatic: only ? undefined : new AutomaticDocuments(),
  }
}

type Source = Exclude<DocumentsOption, string | Readonly<Record<string, string>>>

/** Programs without types may leave `from` out. */
function toSource(option: DocumentsOption): Partial<Source> {
  return isSource(option) ? option : { from: option }
}

function isSource(option: DocumentsOption): option is Source {
  return typeof option === 'object' && isSourceLike(option)
}

/** A document whose id is `from` is text too, so a source is known by what is beside it or by what `from` holds. */
function isSourceLike(option: object): boolean {
  const { from, ...otherOptions } = option as Readonly<Record<string, unknown>>
  const values = Object.values(otherOptions).filter((value) => value !== undefined)
  return (
    values.some((value) => typeof value === 'boolean') || isMap(from) || isOnlyPath(from, values)
  )
}

function isOnlyPath(from: unknown, otherOptions: readonly unknown[]): boolean {
  return from !== undefined && otherOptions.length === 0
}

/** @param documents the option, whatever it holds */
export function refuseUnknownSource(documents: unknown, problems: Problem[]): void {
  if (!isMap(documents) || !isSourceLike(documents)) return
  problems.push(...rejectUnknownOptions(documents, ['from', 'only'], 'GraphQL documents'))
}

function readFile(path: string, problems: Problem[]): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (isMap(read)) return { ...read }
    problems.push(invalidDocuments(`GraphQL documents: ${path} holds no object.`))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    problems.push(invalidDocuments(`GraphQL documents: ${path} cannot be read: ${why}.`))
  }
  return {}
}

function invalidDocuments(message: string): Problem {
  return { code: 'INVALID_DOCUMENTS', message, remedy: 'Give a JSON object of texts by id.' }
}
