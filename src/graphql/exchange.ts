/**
 * What goes into an operation and what comes out: the parts of a GraphQL request (the document or its id, the name of the
 * operation, the variables, the accepted media types), its caller, and its outcome. Source: GraphQL over HTTP, "Media
 * types".
 */

import type { GraphQLError } from 'graphql'
import type { RequestParams } from 'graphql-http'
import { HttpError } from '../errors/http-error.js'
import {
  thrownIn,
  type EntryOptions,
  toErrorEntries,
  type ErrorEntry,
  graphqlCodes,
} from './errors.js'
import type { Operation } from './operations.js'
import type { EventItem } from '../http/events.js'
import { mapIterator } from './open-streams.js'
import type { AccessResult, Caller } from '../records/rights/caller.js'
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'
import type { Database } from '../records/database.js'
import { hasReplicas, readAsOf } from '../records/request-caller.js'
import type { ExecutorOptions } from './executor.js'
import type { ClientWriting } from '../engines/contract/engine.js'
import { type Claims, type HttpRequest, requestValue } from '../http/request.js'
import { readMediaRanges } from '../http/accept.js'
import { ServerRequest } from '../http/server-request.js'
import type { RouteInfo } from '../routing/route.js'
import { isMap } from '../core/json.js'
import type { PersistedDocuments } from './documents.js'

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

/** The parts of a valid request. */
export interface RequestParts {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly operationName: string | undefined
}

/**
 * Reads a parsed body. Unknown keys are ignored, as GraphQL over HTTP requires.
 *
 * @throws {HttpError} 400 `BAD_REQUEST`, `PERSISTED_DOCUMENT_NOT_FOUND` or `PERSISTED_QUERY_NOT_FOUND`
 */
export function readRequestParts(body: unknown, documents: PersistedDocuments): RequestParts {
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

/** Converts the parts to the parameters of graphql-http. */
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
    throw unknownDocument('There is no persisted document with this id.')
  }
  const sent = documents.automatic.find(hash)
  if (sent !== undefined) return sent
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

/** The media types that a client accepts. */
export interface AcceptedMedia {
  /** The type of a single result: `json` is `application/json`, `response` is `application/graphql-response+json`. */
  readonly result: 'json' | 'response' | undefined
  /** Whether the client accepts `text/event-stream`, which subscriptions and live queries need. */
  readonly stream: boolean
}

/** The values of `Content-Type`. */
export const resultTypes = {
  json: 'application/json; charset=utf-8',
  response: 'application/graphql-response+json; charset=utf-8',
} as const

const anyMedia: AcceptedMedia = Object.freeze({ result: 'json', stream: false })
const json: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*'])

/** Results by header. Clients send few different headers, each very often. */
const cachedMedia = new Map<string, AcceptedMedia>()
const maxCachedMedia = 100

/**
 * Reads `Accept`. `application/graphql-response+json` wins if its weight is at least the weight of JSON.
 *
 * @param accept `undefined` accepts every type
 */
export function acceptedMedia(accept: string | undefined): AcceptedMedia {
  if (accept === undefined || accept === '*/*') return anyMedia
  const cached = cachedMedia.get(accept)
  if (cached !== undefined) return cached
  const media = readAccept(accept)
  if (cachedMedia.size < maxCachedMedia) cachedMedia.set(accept, media)
  return media
}

function readAccept(accept: string): AcceptedMedia {
  const weights = { json: 0, response: 0, stream: 0 }
  for (const { type, parameters } of readMediaRanges(accept)) {
    const kind = kindOf(type)
    if (kind !== undefined && acceptsUtf8(parameters)) {
      weights[kind] = Math.max(weights[kind], readWeight(parameters))
    }
  }
  const prefersResponse = weights.response > 0 && weights.response >= weights.json
  const result = prefersResponse ? 'response' : weights.json > 0 ? 'json' : undefined
  return Object.freeze({ result, stream: weights.stream > 0 })
}

function kindOf(type: string): 'json' | 'response' | 'stream' | undefined {
  if (type === 'application/graphql-response+json') return 'response'
  if (type === 'text/event-stream') return 'stream'
  return json.has(type) ? 'json' : undefined
}

function acceptsUtf8(parameters: readonly string[]): boolean {
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset)
}

function readWeight(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  if (weight === undefined) return 1
  return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(weight) ? Number(weight) : 0
}

/**
 * The outcome of an operation, its conversion to results, JSON text and server-sent events, and the diagnostics event about
 * it. Source: decisions, GraphQL.
 */

/** The code of errors of repositories if the database does not respond. */
const unavailable = 'DATABASE_UNAVAILABLE'

/**
 * Finds the error of an operation that has no result because the database did not respond, so that the response is a
 * 503.
 *
 * @returns `undefined` if the operation has read data or may have written some
 */
export function findOutage(
  { data, text, errors }: Outcome,
  operation: Operation,
): HttpError | undefined {
  const error = errors?.find((one) => toOutage(one) !== undefined)
  if (error === undefined) return undefined
  const result = text === undefined ? data : (JSON.parse(text) as object | null)
  if (result === undefined || result === null) {
    return isAfterAnotherField(error, operation) ? undefined : toOutage(error)
  }
  return Object.values(result).every((value) => value === null) ? toOutage(error) : undefined
}

/** Whether fields of a mutation before the failed one may have run, so that the client must not repeat the request. */
function isAfterAnotherField({ path }: GraphQLError, operation: Operation): boolean {
  if (operation.kind !== 'mutation') return false
  const [first] = [...operation.everyRoot()].map(([key]) => key)
  return path !== undefined && path[0] !== first
}

function toOutage(error: GraphQLError): HttpError | undefined {
  const thrown = thrownIn(error)
  return thrown instanceof HttpError && thrown.code === unavailable ? thrown : undefined
}

const complete: EventItem = Object.freeze({ event: 'complete', data: '' })

/**
 * Converts outcomes to events: `next` for each, then `complete`. Source: GraphQL over Server-Sent Events, "Distinct
 * connections mode".
 */
export function toEventItems(
  outcomes: AsyncIterableIterator<Outcome> | readonly [Outcome],
  options: EntryOptions,
): AsyncIterable<EventItem> | readonly EventItem[] {
  const toItem = (outcome: Outcome): EventItem => ({
    event: 'next',
    data: toResultText(outcome, options, false),
  })
  if (Symbol.asyncIterator in outcomes) return mapIterator(outcomes, toItem, [complete])
  return [toItem(outcomes[0]), complete]
}

/** The result of `execute` and `handleRequest`. */
export interface GraphQLResult {
  /** Null if nothing ran, or if a field that cannot be null has failed. */
  data: Record<string, unknown> | null
  errors?: ErrorEntry[]
}

export function toResult(outcome: Outcome, options: EntryOptions): GraphQLResult {
  const { text, errors } = outcome
  const data = text === undefined ? (outcome.data ?? null) : (JSON.parse(text) as object | null)
  const result: GraphQLResult = { data: data as GraphQLResult['data'] }
  if (errors !== undefined) result.errors = toErrorEntries(errors, options)
  return result
}

/** Whether the operation ran. Its fields may have failed. */
export function hasRun({ data, text }: Outcome): boolean {
  return data !== undefined || text !== undefined
}

/**
 * Writes a result: `{"data":{"a":1}}`, `{"data":null,"errors":[…]}`.
 *
 * @param alwaysData false to omit `data` if nothing ran
 */
export function toResultText(outcome: Outcome, options: EntryOptions, alwaysData: boolean): string {
  const { errors } = outcome
  const entries = errors && JSON.stringify(toErrorEntries(errors, options))
  if (!alwaysData && !hasRun(outcome)) return `{"errors":${entries ?? '[]'}}`
  const data = outcome.text ?? JSON.stringify(outcome.data ?? null)
  return entries === undefined ? `{"data":${data}}` : `{"data":${data},"errors":${entries}}`
}

export type Variables = Readonly<Record<string, unknown>>

/** The result of an operation before it is converted. */
export interface Outcome {
  /** Undefined if nothing ran, with the reason in `errors`, or if `text` is set. */
  readonly data: object | null | undefined
  /** `data` as JSON text, if plans produced it. */
  readonly text: string | undefined
  readonly errors: readonly GraphQLError[] | undefined
  /** Set if the caller may not run the operation. */
  readonly refused: Exclude<AccessResult, 'admitted'> | undefined
}

/** The outcome of an operation that did not run. */
export function notRun(errors: readonly GraphQLError[]): Outcome {
  return { data: undefined, text: undefined, errors, refused: undefined }
}

/** An operation that ran, or a subscription that was opened. */
export interface GraphqlEvent extends WatchedWork {
  /** The `GraphQL` instance. */
  readonly graphql: object | undefined
  readonly type: 'query' | 'mutation' | 'subscription'
  /** The name in the document, if any. */
  readonly name: string | undefined
  /** Its cost without the values of variables. */
  readonly cost: number
  /** Whether the result has errors. */
  failed: boolean
}

/** The diagnostics channel `filigree:graphql`. See docs/monitoring.md. */
export const graphqlEvents = new WorkChannel<GraphqlEvent>('filigree:graphql')

/** Reads the caller of an operation from the context passed to `execute`. Source: decisions, GraphQL. */

/**
 * Decides which operations may read from replicas, which lag behind the primary: only queries.
 *
 * @returns a function to call before each operation; `undefined` if the database has no replicas
 */
export function createReplicaPolicy(database: Database | undefined): ExecutorOptions['onRun'] {
  if (database === undefined || !hasReplicas(database)) return undefined
  return (type: string, context) => {
    // A mutation returns the rows that it wrote, and a subscription the latest change.
    readAsOf(type === 'query' ? 'soon' : 'now', callerOf(context).request, database)
  }
}

/** The context of operations that the endpoint runs. */
export interface RequestContext {
  readonly request: HttpRequest
  /** Claims of the verified token. Null for anonymous callers and for the static key of the operator. */
  readonly user: Claims | null
}

const trustedProgram: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

/** @param context the context of `execute`; without `user` and `request` the caller is the program itself */
export function callerOf(context: unknown): Caller {
  if (typeof context !== 'object' || context === null) return trustedProgram
  const { user, request } = context as { user?: Claims | null; request?: HttpRequest }
  if (request === undefined && !('user' in context)) return trustedProgram
  const claims = user ?? request?.user ?? null
  const auth = request?.auth ?? (claims === null ? undefined : { by: 'token', claims })
  return { trusted: false, auth, user: claims, request }
}

/** The HTTP request of an operation. `undefined` if the program runs it. */
export function requestOf(context: unknown): HttpRequest | undefined {
  if (typeof context !== 'object' || context === null) return undefined
  return (context as { request?: HttpRequest }).request
}

/**
 * The request whose time limit applies to writes. `undefined` for the program and for requests that it creates itself.
 */
export function writingOf({ request }: Caller): ClientWriting | undefined {
  return request instanceof ServerRequest ? request : undefined
}
