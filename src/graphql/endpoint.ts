/**
 * Answers GraphQL requests over HTTP. graphql-http reads the request and negotiates; the answer is made here, once, as
 * finished text. Source: GraphQL over HTTP; decisions, GraphQL, "Status" and "Who may call".
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { GraphQLError } from 'graphql'
import type { Handler, Response as HandlerResponse } from 'graphql-http'
import { HttpError } from '../errors/http-error.js'
import { events } from '../http/events.js'
import { reply, type Reply } from '../http/reply.js'
import type { HttpRequest } from '../http/request.js'
import { acceptedMedia, resultTypes, type AcceptedMedia } from './accepted-media.js'
import { graphqlCodes } from './error-codes.js'
import { toEventItems } from './event-items.js'
import { notRun, type DefaultAccess, type Outcome } from './executor.js'
import type { GraphQL } from './graphql.js'
import { graphqlLibrary } from './library.js'
import type { Operation } from './operation.js'
import { Refusal } from './operations.js'
import { readRequestParts, toRequestParams, type RequestParts } from './request-parts.js'
import { hasRun, toResultText } from './result.js'

/** What a request is answered with besides its text; graphql-http hands it through. */
interface Exchange {
  readonly request: HttpRequest
  readonly media: AcceptedMedia
  readonly body: unknown
  /** Set where results come as events, in the place of a text. */
  stream: Reply | undefined
  /** Set where the operation was for token holders. */
  secured: boolean
}

/** Answers one request whose body was read. */
export type Answer = (request: HttpRequest, body: unknown) => Promise<EndpointAnswer>

export interface EndpointAnswer {
  readonly reply: Reply
  /** The operation was for token holders, so that a fresh token may go with the answer. */
  readonly secured: boolean
}

type RequestHandler = Handler<HttpRequest, Exchange>

/** @param access who may call where a root field says nothing */
export function createEndpoint(graphql: GraphQL, access: DefaultAccess): Answer {
  let handler: RequestHandler | undefined
  return async (request, body) => {
    handler ??= createRequestHandler(graphql, access)
    const media = acceptedMedia(request.incoming.headers.accept)
    const exchange: Exchange = { request, media, body, stream: undefined, secured: false }
    const response = await handler({
      method: request.method === 'HEAD' ? 'GET' : request.method,
      url: request.url,
      headers: { accept: acceptFor(media) },
      body: null,
      raw: request,
      context: exchange,
    })
    return {
      reply: exchange.stream ?? toReply(response, exchange),
      secured: exchange.secured,
    }
  }
}

/** Negotiation is done; what is handed on says its outcome. A stream alone is read like JSON and answered otherwise. */
function acceptFor({ result, stream }: AcceptedMedia): string {
  if (result === 'response') return 'application/graphql-response+json'
  return result === 'json' || stream ? 'application/json' : 'none/none'
}

function createRequestHandler(graphql: GraphQL, access: DefaultAccess): RequestHandler {
  const { createHandler } = createRequire(import.meta.url)(
    'graphql-http',
  ) as typeof import('graphql-http')
  return createHandler<HttpRequest, Exchange>({
    parseRequestParams: ({ context }) => {
      try {
        return toRequestParams(readRequestParts(context.body, graphql.documents()))
      } catch (error) {
        if (!(error instanceof HttpError)) throw error
        return malformedRequest(error)
      }
    },
    onSubscribe: async ({ context: exchange }, params) => {
      const parts: RequestParts = {
        query: params.query,
        variables: params.variables ?? {},
        operationName: params.operationName ?? undefined,
      }
      return answerOperation(graphql, access, exchange, parts)
    },
  })
}

/** A request that is no GraphQL request: 400, in JSON whatever was accepted. */
export function malformedRequest({ status, message, code }: HttpError): HandlerResponse {
  const text = JSON.stringify({
    error: message,
    data: null,
    errors: [{ message, extensions: { code } }],
  })
  return [text, { status, statusText: '', headers: { 'content-type': resultTypes.json } }]
}

async function answerOperation(
  graphql: GraphQL,
  access: DefaultAccess,
  exchange: Exchange,
  { query, variables, operationName }: RequestParts,
): Promise<HandlerResponse> {
  const executor = graphql.executor()
  const operation = executor.find(query, operationName)
  if (operation instanceof Refusal) return write(graphql, exchange, notRun(operation.errors))
  const { OperationTypeNode } = graphqlLibrary()
  const kind = operation.node.operation
  const { request } = exchange
  const isGet = request.method !== 'POST'
  if (isGet && kind === OperationTypeNode.MUTATION) return mutationByGet()
  exchange.secured = executor.guardedRoots(operation, access).length > 0
  const context = { request, user: request.user }
  if (kind === OperationTypeNode.SUBSCRIPTION) {
    if (!exchange.media.stream) return write(graphql, exchange, notRun([noStream()]))
    const opened = await executor.subscribe(operation, variables, context, access)
    if (!(Symbol.asyncIterator in opened)) return write(graphql, exchange, opened)
    exchange.stream = events(toEventItems(opened, graphql.entryOptions))
    return [null, { status: 200, statusText: '' }]
  }
  const outcome = await executor.run(operation, variables, context, access)
  return write(graphql, exchange, outcome, isGet ? operation : undefined)
}

/** @param kept the query, where its answer may be kept by the client */
function write(
  graphql: GraphQL,
  exchange: Exchange,
  outcome: Outcome,
  kept?: Operation,
): HandlerResponse {
  const { media } = exchange
  if (outcome.refused !== undefined) return refusal(graphql, media, outcome)
  if (media.result === undefined) {
    exchange.stream = events(toEventItems([outcome], graphql.entryOptions))
    return [null, { status: 200, statusText: '' }]
  }
  const isJson = media.result === 'json'
  const text = toResultText(outcome, graphql.entryOptions, isJson)
  const headers: Record<string, string> = { 'content-type': resultTypes[media.result] }
  if (kept !== undefined) {
    addCacheHeaders(headers, text, outcome, { exchange, maxAge: graphql.maxAge })
  }
  return [text, { status: isJson || hasRun(outcome) ? 200 : 400, statusText: '', headers }]
}

/** The body has to be read to know the operation, so that this is no ordinary 401. */
function refusal(graphql: GraphQL, media: AcceptedMedia, outcome: Outcome): HandlerResponse {
  const isUnknown = outcome.refused === 'unauthenticated'
  const error = isUnknown ? 'Unauthorized' : 'Forbidden'
  const text = `{"error":"${error}",${toResultText(outcome, graphql.entryOptions, true).slice(1)}`
  const headers: Record<string, string> = { 'content-type': resultTypes[media.result ?? 'json'] }
  if (isUnknown) headers['www-authenticate'] = 'Bearer'
  return [text, { status: isUnknown ? 401 : 403, statusText: '', headers }]
}

function mutationByGet(): HandlerResponse {
  const message = 'A mutation cannot be run by GET. Send it by POST.'
  const [text, init] = malformedRequest(new HttpError(405, message, { code: graphqlCodes.method }))
  return [text, { ...init, headers: { ...init.headers, allow: 'POST' } }]
}

function noStream(): GraphQLError {
  const { GraphQLError } = graphqlLibrary()
  return new GraphQLError('A subscription needs Accept: text/event-stream.', {
    extensions: { code: graphqlCodes.request },
  })
}

/** Everybody gets the same answer only where nobody was asked for a name, and nothing failed. */
function addCacheHeaders(
  headers: Record<string, string>,
  text: string,
  outcome: Outcome,
  { exchange, maxAge }: { readonly exchange: Exchange; readonly maxAge: number },
): void {
  const { authorization } = exchange.request.incoming.headers
  if (authorization !== undefined || exchange.secured)
    headers['cache-control'] = 'private, no-store'
  else if (outcome.errors !== undefined) headers['cache-control'] = 'no-store'
  else {
    headers['cache-control'] = maxAge > 0 ? `public, max-age=${maxAge}` : 'no-cache'
    headers.etag = `"${createHash('sha256').update(text).digest('base64url')}"`
  }
}

function toReply([body, { status, headers = {} }]: HandlerResponse, exchange: Exchange): Reply {
  // graphql-http answers some requests with a status alone; every error of the house has a text.
  if (body === null) throw new HttpError(status, undefined, { headers: withoutType(headers) })
  const { 'content-type': type, etag, ...rest } = headers
  const known = etag !== undefined && isKnown(exchange.request, etag)
  const answer: Reply = known ? reply(null, 304) : reply(body, status)
  // Straight into the list: these are constants of ours, and every answer has them.
  if (!known) answer.mediaType = type
  // What a cache may keep depends on both; an answer to POST is not kept anyway.
  answer.headers.push('Vary', etag === undefined ? 'Accept' : 'Accept, Authorization')
  if (etag !== undefined) answer.headers.push('ETag', etag)
  for (const [name, value] of Object.entries(rest)) answer.headers.push(name, value)
  return answer
}

function isKnown({ incoming }: HttpRequest, etag: string): boolean {
  return incoming.headers['if-none-match']?.includes(etag) === true
}

function withoutType(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'content-type'))
}
