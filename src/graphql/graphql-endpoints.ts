/** The routes of an instance: the endpoint and the IDE. */
import type { Gate } from '../auth/gate.js'
import { HttpError } from '../errors/http-error.js'
import { readJson } from '../http/bodies/json.js'
import { readMediaType } from '../http/bodies/media-type.js'
import type { TextValues } from '../http/query.js'
import type { Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { type MaybePromise, after, attempt } from '../core/maybe-promise.js'
import { createEndpoint, malformedReply } from './endpoint.js'
import { graphqlCodes } from './errors.js'
import type { GraphQL, GraphQLRoute } from './graphql.js'
import { ideFile, idePage, ideStart } from './ide.js'

export interface GraphqlEndpoint {
  readonly method: 'GET' | 'POST'
  /** A pattern: `/graphql/ide/<name:path>`. */
  readonly path: string
  /** It runs operations: their resolvers may use the visitor's session. */
  readonly runsOperations: boolean
  /** What to wait for before `answer`: the body. */
  readonly before?: (request: ServerRequest) => Promise<void> | undefined
  readonly handle: (request: ServerRequest) => MaybePromise<Reply>
}

export interface GraphqlEndpointsOptions {
  /**
   * Called for every request with a token: a bad token is 401. A request without one is anonymous, and may then be
   * refused.
   */
  readonly gate: Gate
  /** What reads a JSON body of at most `limit` bytes into `request.body`. */
  readonly bodyReader: (limit: number) => (request: ServerRequest) => Promise<void> | undefined
}

/** What one route of an instance serves. All of them are open: who may run what is decided when the operation is known. */
export function graphqlEndpoints(
  graphql: GraphQL,
  { path, access }: GraphQLRoute,
  options: GraphqlEndpointsOptions,
): readonly GraphqlEndpoint[] {
  const endpoint = createEndpoint(graphql, access, (request, handle) =>
    after(options.gate.rotate(request), () => handle),
  )
  const readBody = options.bodyReader(graphql.limits.bytes)
  const run = (request: ServerRequest, body: unknown): MaybePromise<Reply> =>
    after(recognise(request, options.gate), (refusal) => endpoint(request, body, refusal))
  const readPost = (request: ServerRequest): Promise<void> | undefined => {
    options.gate.refuseForeignWrite(request)
    refuseOtherTypes(request)
    return readBody(request)?.catch((error: unknown) => {
      // A body that is not JSON gets a response in the form of GraphQL; bodies that are too long or
      // too slow get the usual errors.
      if (!(error instanceof HttpError) || error.status !== 400) throw error
      request.body = error
    })
  }
  const post = (request: ServerRequest): MaybePromise<Reply> => {
    const { body } = request
    return body instanceof HttpError ? malformedReply(body) : run(request, body)
  }
  const get = (request: ServerRequest): MaybePromise<Reply> => {
    const { query } = request
    if (graphql.ide && operationParameters.every((name) => query[name] === undefined))
      return idePage(path)
    try {
      return run(request, readQueryParts(query))
    } catch (error) {
      if (error instanceof HttpError) return malformedReply(error)
      throw error
    }
  }
  const base = path === '/' ? '' : path
  return [
    { method: 'POST', path, runsOperations: true, before: readPost, handle: post },
    { method: 'GET', path, runsOperations: true, handle: get },
    ...(graphql.ide
      ? ([
          {
            method: 'GET',
            path: `${base}/ide/initial_options.js`,
            runsOperations: false,
            handle: () => ideStart(path),
          },
          {
            method: 'GET',
            path: `${base}/ide/<name:path>`,
            runsOperations: false,
            handle: ({ pathValues }) => ideFile(String(pathValues[0])),
          },
        ] satisfies GraphqlEndpoint[])
      : []),
  ]
}

const operationParameters = ['query', 'documentId', 'extensions'] as const

/** A token that is brought says who calls, also where none is needed. @returns why it is refused */
function recognise(request: ServerRequest, gate: Gate): MaybePromise<HttpError | undefined> {
  return attempt<HttpError | undefined>(
    () => after(gate.recognise(request), () => undefined),
    (error) => {
      if (!(error instanceof HttpError) || error.status !== 401) throw error
      return new HttpError(401, error.message, {
        code: graphqlCodes.unauthenticated,
        headers: error.headers ?? {},
        ...(error.reason === undefined ? {} : { reason: error.reason }),
      })
    },
  )
}

/** Browsers send forms and plain text across origins without a preflight, so only JSON is accepted. */
function refuseOtherTypes({ incoming }: ServerRequest): void {
  const contentType = incoming.headers['content-type'] ?? ''
  if (contentType === 'application/json') return
  const type = readMediaType(contentType)
  if (type?.essence === 'application/json') return
  throw new HttpError(415, 'Send application/json.', { headers: { accept: 'application/json' } })
}

/** The same, of a request that may have malformed ones: undefined then. */
export function queryParts({ query }: ServerRequest): Record<string, unknown> | undefined {
  try {
    return readQueryParts(query)
  } catch {
    return undefined
  }
}

/** The parameters of a GET request, `variables` and `extensions` being JSON. */
function readQueryParts(query: TextValues): Record<string, unknown> {
  const parts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) {
      throw new HttpError(400, `${name} is there twice.`, { code: graphqlCodes.request })
    }
    const isJson = name === 'variables' || name === 'extensions'
    parts[name] = isJson && value !== '' ? readJson(Buffer.from(value)) : value
  }
  return parts
}
