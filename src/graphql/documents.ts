/** Persisted documents: clients send a document's id in the place of its text. Source: GraphQL over HTTP, "Persisted documents". */
import { readFileSync } from 'node:fs'
import { isMap } from '../core/json.js'
import type { Problem } from '../errors/declaration-error.js'
import { rejectUnknownOptions } from '../errors/unknown-options.js'
import { AutomaticDocuments } from './automatic-documents.js'

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
    else problems.push(faulty(`GraphQL documents: "${id}" is no text.`))
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
  const { from, ...beside } = option as Readonly<Record<string, unknown>>
  const values = Object.values(beside).filter((value) => value !== undefined)
  return (
    values.some((value) => typeof value === 'boolean') || isMap(from) || isLonePath(from, values)
  )
}

function isLonePath(from: unknown, beside: readonly unknown[]): boolean {
  return from !== undefined && beside.length === 0
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
    problems.push(faulty(`GraphQL documents: ${path} holds no object.`))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    problems.push(faulty(`GraphQL documents: ${path} cannot be read: ${why}.`))
  }
  return {}
}

function faulty(message: string): Problem {
  return { code: 'INVALID_DOCUMENTS', message, remedy: 'Give a JSON object of texts by id.' }
}
