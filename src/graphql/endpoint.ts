/**
 * The HTTP endpoint of GraphQL. POST requests that accept JSON run directly. graphql-http negotiates all other
 * requests, such as GET. Source: GraphQL over HTTP; decisions, GraphQL.
 */
import { createRequire } from 'node:module'
import type { GraphQLError } from 'graphql'
import type { Handler, Response as HandlerResponse } from 'graphql-http'
import { HttpError } from '../errors/http-error.js'
import { withoutTracking } from '../http/caller-access.js'
import { entityTag, matchesEntityTag } from '../http/entity-tag.js'
import { events, sourceEvents } from '../http/events.js'
import { reply, type Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { type MaybePromise, after } from '../core/maybe-promise.js'
import { acceptedMedia, resultTypes, type AcceptedMedia } from './accepted-media.js'
import {
  readOperationRequest,
  toRequestParams,
  type OperationRequest,
} from './operation-request.js'
import { toEventItems, notRun, type Outcome, hasRun, toResultText, findOutage } from './outcome.js'
import { graphqlCodes, type EntryOptions } from './errors.js'
import type { DefaultAccess } from './executor.js'
import type { GraphQL } from './graphql.js'
import { graphqlLibrary } from './library.js'
import { readLive, LiveQueryRefused, openLive, type LiveOperation } from './live-query.js'
import { type Operation, RefusedDocument } from './operations.js'
import { fieldsOf, isDebugged } from '../core/log.js'

/** One request with its reply. graphql-http passes it on as its context. */
interface EndpointCall {
  readonly request: ServerRequest
  readonly media: AcceptedMedia
  readonly body: unknown
  /** The reply, once there is one. It replaces the reply of graphql-http. */
  reply: Reply | undefined
  /** Whether the operation requires a token. */
  requiresToken: boolean
  /** The error of an invalid token. An operation that requires no token runs despite it. */
  readonly tokenError: HttpError | undefined
}

/**
 * Handles one request whose body was read. Synchronous if the operation is.
 *
 * @param tokenError the error of an invalid token. Operations that require a token are then not run
 */
export type RunRequest = (
  request: ServerRequest,
  body: unknown,
  tokenError: HttpError | undefined,
) => MaybePromise<Reply>

/** Adds a fresh token to the response of an operation that requires a token. */
export type Rotate = (request: ServerRequest, response: Reply) => MaybePromise<Reply>

type RequestHandler = Handler<ServerRequest, EndpointCall>

/** @param access the access rules of root fields without their own */
export function createEndpoint(
  graphql: GraphQL,
  access: DefaultAccess,
  rotate: Rotate,
): RunRequest {
  let handler: RequestHandler | undefined
  return (request, body, tokenError) => {
    const media = acceptedMedia(request.incoming.headers.accept)
    const call: EndpointCall = {
      request,
      media,
      body,
      reply: undefined,
      requiresToken: false,
      tokenError,
    }
    // Nothing needs to be negotiated, and graphql-http would only add promises.
    if (request.method === 'POST' && media.result !== undefined) {
      const response = runPost(graphql, access, call)
      // `requiresToken` is set synchronously, before the operation runs.
      return call.requiresToken ? after(response, (reply) => rotate(request, reply)) : response
    }
    handler ??= createRequestHandler(graphql, access)
    return negotiate(handler, call).then((reply) =>
      call.requiresToken ? rotate(request, reply) : reply,
    )
  }
}

function runPost(graphql: GraphQL, access: DefaultAccess, call: EndpointCall): MaybePromise<Reply> {
  let requested: OperationRequest
  try {
    requested = readOperationRequest(call.body, graphql.documents())
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return replyToInvalidRequest(graphql, call, error)
  }
  return runOperation(graphql, access, call, requested)
}

/** Runs a request through graphql-http: GET requests, and clients that do not accept JSON. */
async function negotiate(handler: RequestHandler, call: EndpointCall): Promise<Reply> {
  const { request, media } = call
  const [, { status, headers }] = await handler({
    method: request.method === 'HEAD' ? 'GET' : request.method,
    url: request.url,
    headers: { accept: acceptFor(media) },
    body: null,
    raw: request,
    context: call,
  })
  if (call.reply !== undefined) return call.reply
  // graphql-http answers some requests with only a status. An error of the framework has a text too.
  throw new HttpError(status, undefined, { headers: withoutContentType(headers ?? {}) })
}

/** The `Accept` for graphql-http: the negotiated type alone. It does not know event streams, so they count as JSON. */
function acceptFor({ result, stream }: AcceptedMedia): string {
  if (result === 'response') return 'application/graphql-response+json'
  return result === 'json' || stream ? 'application/json' : 'none/none'
}

/** Makes graphql-http return early, because `call.reply` is set. */
const replied: HandlerResponse = [null, { status: 200, statusText: '' }]

function createRequestHandler(graphql: GraphQL, access: DefaultAccess): RequestHandler {
  const { createHandler } = createRequire(import.meta.url)(
    'graphql-http',
  ) as typeof import('graphql-http')
  return createHandler<ServerRequest, EndpointCall>({
    parseRequestParams: ({ context: call }) => {
      try {
        return toRequestParams(readOperationRequest(call.body, graphql.documents()))
      } catch (error) {
        if (!(error instanceof HttpError)) throw error
        call.reply = replyToInvalidRequest(graphql, call, error)
        return replied
      }
    },
    onSubscribe: async ({ context: call }, params) => {
      const requested: OperationRequest = {
        query: params.query,
        variables: params.variables ?? {},
        operationName: params.operationName ?? undefined,
      }
      call.reply = await runOperation(graphql, access, call, requested)
      return replied
    },
  })
}

/** An unknown hash is an ordinary GraphQL result, after which the client sends the document. */
function replyToInvalidRequest(graphql: GraphQL, call: EndpointCall, error: HttpError): Reply {
  const { code, message } = error
  if (code !== graphqlCodes.unknownHash) return errorReply(error)
  const { GraphQLError } = graphqlLibrary()
  return resultReply(graphql, call, notRun([new GraphQLError(message, { extensions: { code } })]))
}

/** The reply to a request that is rejected before its operation runs. Always JSON, whatever the client accepts. */
export function errorReply({ status, message, code, headers = {} }: HttpError): Reply {
  const text = JSON.stringify({
    error: message,
    code,
    data: null,
    errors: [{ message, extensions: { code } }],
  })
  const response = textReply(text, status, resultTypes.json)
  for (const [name, value] of Object.entries(headers)) response.headers.add(name, value)
  return response
}

function runOperation(
  graphql: GraphQL,
  access: DefaultAccess,
  call: EndpointCall,
  { query, variables, operationName }: OperationRequest,
): MaybePromise<Reply> {
  const executor = graphql.executor()
  const operation = executor.find(query, operationName)
  if (operation instanceof RefusedDocument)
    return resultReply(graphql, call, notRun(operation.errors))
  const { kind } = operation
  const { request } = call
  const isGet = request.method !== 'POST'
  if (isGet && kind === 'mutation') return replyToMutationByGet(graphql, call)
  call.requiresToken = executor.guardedRoots(operation, access).length > 0
  if (call.tokenError !== undefined && !call.requiresToken) return errorReply(call.tokenError)
  const context = { request, user: request.user }
  const live = call.media.stream ? readLive(operation, variables) : undefined
  if (live !== undefined) {
    const liveOperation = { operation, text: query, variables, context, access, options: live }
    return openLiveQuery(graphql, call, liveOperation)
  }
  if (kind === 'subscription') {
    if (!call.media.stream) return resultReply(graphql, call, notRun([missingEventStream()]))
    return executor
      .subscribe(operation, variables, context, access)
      .then((opened) =>
        Symbol.asyncIterator in opened
          ? events(toEventItems(opened, graphql.entryOptionsOf(context)))
          : replyToRun(graphql, call, opened, operation),
      )
  }
  return after(executor.run(operation, variables, context, access), (outcome) =>
    replyToRun(graphql, call, outcome, operation),
  )
}

/** An error of the first run gets the response of an ordinary query. */
async function openLiveQuery(
  graphql: GraphQL,
  call: EndpointCall,
  liveOperation: LiveOperation,
): Promise<Reply> {
  const { request } = call
  const lastId = request.incoming.headers['last-event-id']
  const wire = { request, lastId: typeof lastId === 'string' ? lastId : undefined }
  try {
    const listener = await openLive(graphql, graphql.live, liveOperation, wire)
    return sourceEvents(listener)
  } catch (error) {
    if (!(error instanceof LiveQueryRefused)) throw error
    return replyToRun(graphql, call, error.outcome, liveOperation.operation)
  }
}

function replyToRun(
  graphql: GraphQL,
  call: EndpointCall,
  outcome: Outcome,
  operation: Operation,
): Reply {
  const outage = outcome.errors && findOutage(outcome, operation)
  if (outage !== undefined) return outageReply(graphql, call, outcome, outage)
  return resultReply(graphql, call, outcome, call.request.method === 'POST' ? undefined : operation)
}

/** @param cacheable the query of a GET request, whose response may be cached */
function resultReply(
  graphql: GraphQL,
  call: EndpointCall,
  outcome: Outcome,
  cacheable?: Operation,
): Reply {
  const { media } = call
  if (outcome.refused !== undefined) return refusalReply(graphql, call, outcome)
  if (media.result === undefined) {
    return events(toEventItems([outcome], entryOptions(graphql, call, outcome)))
  }
  const isJson = media.result === 'json'
  const text = toResultText(outcome, entryOptions(graphql, call, outcome), isJson)
  const type = resultTypes[media.result]
  const status = isJson || hasRun(outcome) ? 200 : 400
  return cacheable === undefined
    ? textReply(text, status, type)
    : cacheableReply(text, status, type, { call, outcome, maxAge: graphql.maxAge })
}

/** With errors, the log lines name the request. */
function entryOptions(
  graphql: GraphQL,
  { request }: EndpointCall,
  { errors }: Outcome,
): EntryOptions {
  const options = graphql.entryOptions
  return errors === undefined ? options : { ...options, request }
}

/** Sets the headers without the checks of `header()`, because they are constants and every response has them. */
function textReply(text: string, status: number, type: string): Reply {
  const response = reply(text, status)
  response.mediaType = type
  response.headers.add('Vary', 'Accept')
  return response
}

/** 503 as in REST: the client may repeat the request later. */
function outageReply(
  graphql: GraphQL,
  call: EndpointCall,
  outcome: Outcome,
  { status, message, code, headers = {} }: HttpError,
): Reply {
  const { media } = call
  const result = toResultText(outcome, entryOptions(graphql, call, outcome), true)
  const error = JSON.stringify({ error: message, code })
  const text = `${error.slice(0, -1)},${result.slice(1)}`
  const response = textReply(text, status, resultTypes[media.result ?? 'json'])
  for (const [name, value] of Object.entries(headers)) response.headers.add(name, value)
  return response
}

/** The 401 or 403 of an operation. The pipeline cannot send it, because only the body names the operation. */
function refusalReply(graphql: GraphQL, call: EndpointCall, outcome: Outcome): Reply {
  const { media, request } = call
  const isAnonymous = outcome.refused === 'unauthenticated'
  const error = isAnonymous
    ? `{"error":"Unauthorized","code":"${graphqlCodes.unauthenticated}"`
    : `{"error":"Forbidden","code":"${graphqlCodes.forbidden}"`
  const status = isAnonymous ? 401 : 403
  const fields = (outcome.errors ?? []).flatMap(({ path = [] }) => path).join(', ')
  const rule = isAnonymous ? 'a token is needed' : 'its rule does not admit the caller'
  logRefusal(graphql, request, status, `${fields}: ${rule}`)
  const result = toResultText(outcome, entryOptions(graphql, call, outcome), true)
  const text = `${error},${result.slice(1)}`
  const response = textReply(text, status, resultTypes[media.result ?? 'json'])
  if (isAnonymous) response.headers.add('WWW-Authenticate', 'Bearer')
  return response
}

function logRefusal(
  { entryOptions: { log } }: GraphQL,
  request: ServerRequest,
  status: number,
  reason: string,
): void {
  if (!isDebugged(log)) return
  const { id: requestId, method, path } = request
  log.debug({ ...fieldsOf(request), requestId, method, path, status, reason }, 'request refused')
}

function replyToMutationByGet(graphql: GraphQL, { request }: EndpointCall): Reply {
  const message = 'A mutation cannot be run by GET. Send it by POST.'
  logRefusal(graphql, request, 405, message)
  const response = errorReply(new HttpError(405, message, { code: graphqlCodes.method }))
  response.headers.add('Allow', 'POST')
  return response
}

function missingEventStream(): GraphQLError {
  const { GraphQLError } = graphqlLibrary()
  return new GraphQLError('A subscription needs Accept: text/event-stream.', {
    extensions: { code: graphqlCodes.request },
  })
}

interface Cacheable {
  readonly call: EndpointCall
  readonly outcome: Outcome
  readonly maxAge: number
}

/** A response may be shared between callers only if no token was read and nothing failed. */
function cacheableReply(text: string, status: number, type: string, cacheable: Cacheable): Reply {
  const { call, outcome, maxAge } = cacheable
  const { request } = call
  const isPrivate =
    call.requiresToken ||
    request.incoming.headers.authorization !== undefined ||
    withoutTracking(request, () => request.auth) !== undefined
  if (isPrivate || outcome.errors !== undefined) {
    const response = textReply(text, status, type)
    response.headers.add('Cache-Control', isPrivate ? 'private, no-store' : 'no-store')
    return response
  }
  const etag = entityTag(text)
  const isUnchanged = matchesEntityTag(call.request.incoming.headers['if-none-match'], etag)
  const response: Reply = isUnchanged ? reply(null, 304) : reply(text, status)
  if (!isUnchanged) response.mediaType = type
  // The stored response depends on Accept and on its entity tag.
  response.headers.add('Vary', 'Accept')
  response.headers.add('ETag', etag)
  response.headers.add('Cache-Control', maxAge > 0 ? `public, max-age=${maxAge}` : 'no-cache')
  return response
}

function withoutContentType(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'content-type'))
}
