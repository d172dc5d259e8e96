/**
 * A GraphQL request: the document or its id, the name of the operation, and the variables. Source: GraphQL over HTTP,
 * "Request Parameters".
 */
import type { RequestParams } from 'graphql-http'
import { isMap } from '../core/json.js'
import { HttpError } from '../errors/http-error.js'
import { requestValue } from '../http/request.js'
import type { RouteInfo } from '../routing/route.js'
import type { PersistedDocuments } from './documents.js'
import { graphqlCodes } from './errors.js'

/** The operation of a GraphQL request, for custom decorators on root fields. */
export interface RequestedOperation {
  readonly kind: 'query' | 'mutation' | 'subscription'
  /** The document, also if the request contains only its id or hash. */
  readonly text: string
  /** The `operationName` of the request. */
  readonly name: string | undefined
  readonly variables: Readonly<Record<string, unknown>>
  /** One entry for each selected root field and alias; undefined if the field has no decorators. */
  readonly roots: readonly (RouteInfo | undefined)[]
}

/** The operation of a request. Set if at least one of its root fields has a decorator. Not set for invalid requests. */
export const requestedOperation = requestValue<RequestedOperation>('GraphQL operation')

/** A valid request. */
export interface OperationRequest {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly operationName: string | undefined
}

/**
 * Reads a parsed body. Unknown keys are ignored, as GraphQL over HTTP requires.
 *
 * @throws {HttpError} 400 `BAD_REQUEST`, `PERSISTED_DOCUMENT_NOT_FOUND` or `PERSISTED_QUERY_NOT_FOUND`
 */
export function readOperationRequest(
  body: unknown,
  documents: PersistedDocuments,
): OperationRequest {
  if (Array.isArray(body))
    throw malformed('Lists of operations are not supported. Send one operation as an object.')
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

/** Converts a request to the parameters of graphql-http. */
export function toRequestParams({
  query,
  variables,
  operationName,
}: OperationRequest): RequestParams {
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
  // Only a hash can name a document that clients have sent.
  if (id !== hash || documents.automatic === undefined) {
    throw unknownDocument('There is no persisted document with this id.')
  }
  const automaticText = documents.automatic.find(hash)
  if (automaticText !== undefined) return automaticText
  // Clients of Apollo compare this message, and then send the text.
  throw new HttpError(400, 'PersistedQueryNotFound', { code: graphqlCodes.unknownHash })
}

/** The hash of automatic persisted queries, where clients of Apollo send it. */
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
