/**
 * The HTTP routes of a `GraphQL` instance: the endpoint, and the IDE (GraphiQL, whose source is in `client/ide`), whose files
 * are in the package, so that no request leaves the origin.
 */
import type { Gate } from '../auth/gate.js'
import { HttpError } from '../errors/http-error.js'
import { readJson } from '../http/bodies/json.js'
import { readMediaType } from '../http/bodies/media-type.js'
import type { TextValues } from '../http/query-string.js'
import { type Reply, html } from '../http/reply.js'
import { requestValue } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import { type MaybePromise, after, attempt } from '../core/maybe-promise.js'
import { createEndpoint, errorReply } from './endpoint.js'
import { graphqlCodes } from './errors.js'
import type { GraphQL, GraphQLRoute } from './graphql.js'
import { RefusedDocument } from './operations.js'
import { readOperationRequest } from './operation-request.js'
import { pageFolder, pageFile } from '../http/page-files.js'

export interface GraphqlEndpoint {
  readonly method: 'GET' | 'POST'
  /** A pattern: `/graphql/ide/<name:path>`. */
  readonly path: string
  /** Whether the route runs operations, whose resolvers may use the session. */
  readonly runsOperations: boolean
  /** Reads the body, before `handle`. */
  readonly before?: (request: ServerRequest) => Promise<void> | undefined
  readonly handle: (request: ServerRequest) => MaybePromise<Reply>
}

export interface GraphqlEndpointsOptions {
  /**
   * Verifies tokens. Requests without a token are anonymous, and the access rule of the operation decides about them.
   */
  readonly gate: Gate
  /** Creates a function that reads a JSON body of at most `limit` bytes into `request.body`. */
  readonly bodyReader: (limit: number) => (request: ServerRequest) => Promise<void> | undefined
}

/**
 * The HTTP routes of one `registerRoute`. They are open to every caller: the operation in the request decides about
 * access.
 */
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
    after(recognise(request, options.gate), (tokenError) => endpoint(request, body, tokenError))
  const readPost = (request: ServerRequest): Promise<void> | undefined => {
    options.gate.refuseForeignWrite(request)
    checkContentType(request)
    return readBody(request)?.catch((error: unknown) => {
      // A body that is not JSON gets a GraphQL response. Bodies that are too long or too slow get the usual errors.
      if (!(error instanceof HttpError) || error.status !== 400) throw error
      malformedBody.set(request, error)
    })
  }
  const post = (request: ServerRequest): MaybePromise<Reply> => {
    const error = malformedBody.get(request)
    return error === undefined ? run(request, request.body) : errorReply(error)
  }
  const get = (request: ServerRequest): MaybePromise<Reply> => {
    const { query } = request
    if (graphql.ide && operationParameters.every((name) => query[name] === undefined))
      return idePage(path)
    try {
      return run(request, readQueryParts(query))
    } catch (error) {
      if (error instanceof HttpError) return errorReply(error)
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
            path: `${base}/ide/<name:path>`,
            runsOperations: false,
            handle: (request) => ideFile(String(request.pathValues[0]), request),
          },
        ] satisfies GraphqlEndpoint[])
      : []),
  ]
}

/** The error of a body that is not JSON, until the endpoint responds with it. */
const malformedBody = requestValue<HttpError>('malformed body')

const operationParameters = ['query', 'documentId', 'extensions'] as const

/**
 * Verifies the token of a request, also if the operation does not require one. @returns the error of an invalid token
 */
function recognise(request: ServerRequest, gate: Gate): MaybePromise<HttpError | undefined> {
  return attempt<HttpError | undefined>(
    () => after(gate.recognise(request), () => undefined),
    (error) => {
      if (!(error instanceof HttpError) || error.status !== 401) throw error
      return error
    },
  )
}

/** Accepts only JSON, because browsers send forms and plain text to other origins without a preflight request. */
function checkContentType({ incoming }: ServerRequest): void {
  const contentType = incoming.headers['content-type'] ?? ''
  if (contentType === 'application/json') return
  const type = readMediaType(contentType)
  if (type?.essence === 'application/json') return
  throw new HttpError(415, 'Send application/json.', { headers: { accept: 'application/json' } })
}

/** The parameters of a GET request; undefined if they are malformed. */
export function queryParts({ query }: ServerRequest): Record<string, unknown> | undefined {
  try {
    return readQueryParts(query)
  } catch (error) {
    if (error instanceof HttpError) return undefined
    throw error
  }
}

/** @throws {HttpError} 400 for a parameter that occurs twice, or for `variables` and `extensions` that are not JSON */
function readQueryParts(query: TextValues): Record<string, unknown> {
  const parts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) {
      throw new HttpError(400, `${name} occurs twice.`, { code: graphqlCodes.request })
    }
    // Forms and clients send `variables=` for none.
    if (value === '') continue
    const isJson = name === 'variables' || name === 'extensions'
    parts[name] = isJson ? readJson(Buffer.from(value)) : value
  }
  return parts
}

/** Whether a body requests a subscription or a live query. @returns false for invalid requests too */
export function isSubscription(graphql: GraphQL, body: unknown): boolean {
  try {
    const { query, operationName } = readOperationRequest(body, graphql.documents())
    const operation = graphql.executor().find(query, operationName)
    if (operation instanceof RefusedDocument) return false
    const isLive = operation.node.directives?.some(({ name }) => name.value === 'live') === true
    return isLive || operation.kind === 'subscription'
  } catch (error) {
    if (error instanceof HttpError) return false
    throw error
  }
}

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // The editor writes the styles of its themes into the page.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page of the IDE. @param path the path of the endpoint */
function idePage(path: string): Reply<string> {
  const folder = encodeURI(`${path === '/' ? '' : path}/ide`).replaceAll('&', '&amp;')
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/ide.css">
</head>
<body>
<main id="ide"></main>
<noscript>This page needs JavaScript. Send queries to this address by POST.</noscript>
<script type="module" src="${folder}/ide.js"></script>
</body>
</html>
`
  return html(page)
    .header('Content-Security-Policy', pagePolicy)
    .header('Cache-Control', 'no-cache')
    .header('Referrer-Policy', 'no-referrer')
}

/** @param name the path of a file of the page, below `ide/` */
function ideFile(name: string, request: ServerRequest): Reply {
  cachedFolder ??= pageFolder({
    name: 'ide',
    package: 'filigree',
    subfolder: 'dist/server/pages/ide',
  })
  return pageFile(name, cachedFolder, request)
    .header('Cache-Control', 'no-cache')
    .header('Referrer-Policy', 'no-referrer')
}

let cachedFolder: string | undefined
