/** Reads what an operation is asked for with: its text, or a persisted document's id, and its variables. */

import type { RequestParams } from 'graphql-http'
import { requestValue } from '../http/request-value.js'
import type { RouteInfo } from '../routing/route-info.js'
import { isMap } from '../core/json.js'
import { HttpError } from '../errors/http-error.js'
import type { PersistedDocuments } from './documents.js'
import { graphqlCodes } from './errors.js'

/** The operation of a GraphQL request, as custom decorators at root fields see it. */
export interface RequestedOperation {
  readonly kind: 'query' | 'mutation' | 'subscription'
  /** The document, also where the request names it by an id or a hash. */
  readonly text: string
  /** Which operation of the document runs; undefined where it has one. */
  readonly name: string | undefined
  readonly variables: Readonly<Record<string, unknown>>
  /** One for each root field and alias that is asked for; undefined where it has no decorators. */
  readonly roots: readonly (RouteInfo | undefined)[]
}

/** Set on requests for operations of which a root field has a decorator; malformed ones have none. */
export const requestedOperation = requestValue<RequestedOperation>('GraphQL operation')

/** A request that can be looked up and run. */
export interface RequestParts {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly operationName: string | undefined
}

/**
 * Reads a parsed body. Keys it does not know are passed over, as the specification of GraphQL over HTTP wants.
 *
 * @throws {HttpError} 400 `BAD_REQUEST`, `PERSISTED_DOCUMENT_NOT_FOUND` or `PERSISTED_QUERY_NOT_FOUND`
 */
export function readRequestParts(body: unknown, documents: PersistedDocuments): RequestParts {
  if (Array.isArray(body)) throw malformed('Operations in a list are not run. Send one an object.')
  if (!isMap(body)) throw malformed('The body must be an object with the key "query".')
  const { variables, operationName, extensions } = body
  if (isPresent(variables) && !isMap(variables)) throw malformed('variables must be an object.')
  if (isPresent(extensions) && !isMap(extensions)) throw malformed('extensions must be an object.')
  if (isPresent(operationName) && typeof operationName !== 'string') {
    throw malformed('operationName must be a string.')
  }
  return {
    query: readQuery(body, documents),
    variables: isMap(variables) ? variables : {},
    operationName: typeof operationName === 'string' ? operationName : undefined,
  }
}

/** What graphql-http goes on with. */
export function toRequestParams({ query, variables, operationName }: RequestParts): RequestParams {
  return { query, variables: { ...variables }, operationName }
}

function readQuery(body: Readonly<Record<string, unknown>>, documents: PersistedDocuments): string {
  const { query } = body
  const hash = hashOf(body)
  if (isPresent(query)) {
    if (typeof query !== 'string') throw malformed('query must be a string.')
    if (documents.only && !documents.has(query)) {
      throw unknownDocument('Only persisted documents are run. Send documentId.')
    }
    if (hash !== undefined) documents.automatic?.store(hash, query)
    return query
  }
  const { documentId } = body
  const id = typeof documentId === 'string' ? documentId : hash
  if (id === undefined) throw malformed('query is missing.')
  const text = documents.find(id)
  if (text !== undefined) return text
  if (id !== hash || documents.automatic === undefined) {
    throw unknownDocument('There is no persisted document of this id.')
  }
  const sent = documents.automatic.find(hash)
  if (sent !== undefined) return sent
  // Word for word as Apollo's clients look for it: they send the text then.
  throw new HttpError(400, 'PersistedQueryNotFound', { code: graphqlCodes.unknownHash })
}

/** Where Apollo's clients put it. */
function hashOf({ extensions }: Readonly<Record<string, unknown>>): string | undefined {
  const persisted = isMap(extensions) ? extensions.persistedQuery : undefined
  const hash = isMap(persisted) ? persisted.sha256Hash : undefined
  return typeof hash === 'string' ? hash : undefined
}

function malformed(message: string): HttpError {
  return new HttpError(400, message, { code: graphqlCodes.request })
}

function unknownDocument(message: string): HttpError {
  return new HttpError(400, message, { code: graphqlCodes.persisted })
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}
