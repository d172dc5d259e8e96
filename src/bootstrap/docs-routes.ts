/** The documentation's place in the application: its problems at bootstrap, its document on demand, its pages as routes. */
import type { Gate } from '../auth/gate.js'
import type { Problem } from '../errors/declaration-error.js'
import { findDocProblems } from '../openapi/doc-problems.js'
import { resolveDocsOptions, type ResolvedDocs } from '../openapi/docs-options.js'
import { docsPages } from '../openapi/docs-pages.js'
import { createDocument, type OpenApiDocument } from '../openapi/document.js'
import type { DocumentedEndpoint } from '../openapi/graphql-paths.js'
import { findNameCollisions } from '../openapi/name-collisions.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import { pageRoute, type PageRoute } from '../serving/page-route.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import { promiseOf } from '../serving/serve-route.js'
import type { Step } from '../serving/served-route.js'

/** @param docs `undefined` where the documentation is off: then names may collide */
export function findDocumentationProblems(
  routes: readonly PlannedRoute[],
  docs: ResolvedDocs | undefined,
  problems: Problem[],
): void {
  findDocProblems(routes, problems)
  if (docs !== undefined) findNameCollisions(routes, problems)
}

/**
 * Writes the document when it is first asked for; with the documentation off under the default title.
 *
 * @param cookie tokens come by cookie too
 * @param endpoints of GraphQL
 */
export function documentReader(
  routes: readonly PlannedRoute[],
  { docs, basePath }: { readonly docs: ResolvedDocs | undefined; readonly basePath: string },
  cookie: boolean,
  endpoints: readonly DocumentedEndpoint[],
): () => OpenApiDocument {
  let document: OpenApiDocument | undefined
  return () => {
    const options = docs ?? resolveDocsOptions(true, [])
    if (options === undefined) throw new TypeError('The documentation has no options.')
    document ??= createDocument(routes, { ...options, basePath, cookie, endpoints })
    return document
  }
}

export interface DocsContext {
  readonly gate: Gate
  readonly timeout: number
  readonly basePath: string
}

/** A route for each page, for GET and HEAD. None where the documentation is off. */
export function docsRoutes(
  docs: ResolvedDocs | undefined,
  read: () => OpenApiDocument,
  { gate, timeout, basePath }: DocsContext,
): PageRoute[] {
  if (docs === undefined) return []
  return docsPages(docs, read).flatMap(({ path, access, answer }) => {
    const pattern = parsePattern(joinPaths(basePath, path), `bootstrap docs ${path}`, [])
    if (pattern === undefined) return []
    const before: Step[] = access.open ? [] : [(request) => promiseOf(gate.admit(request, access))]
    return [pageRoute({ pattern, name: 'documentation', before, invoke: answer, timeout })]
  })
}
