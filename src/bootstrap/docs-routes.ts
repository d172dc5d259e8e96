/** The documentation's place in the application: its problems at bootstrap, its document on demand, its pages as routes. */
import type { Gate } from '../auth/gate.js'
import type { Problem } from '../errors/declaration-error.js'
import { findDocProblems } from '../openapi/doc-problems.js'
import { resolveDocsOptions, type ResolvedDocs } from '../openapi/docs-options.js'
import { docsPages } from '../openapi/docs-pages.js'
import { createDocument, type OpenApiDocument } from '../openapi/document.js'
import { findNameCollisions } from '../openapi/name-collisions.js'
import { parsePattern, type Pattern } from '../routing/pattern.js'
import type { PlannedRoute } from './plan-routes.js'
import { promiseOf } from './serve-route.js'
import type { ServedRoute } from './served-route.js'

/** @param docs `undefined` where the documentation is off: then names may collide */
export function findDocumentationProblems(
  routes: readonly PlannedRoute[],
  docs: ResolvedDocs | undefined,
  problems: Problem[],
): void {
  findDocProblems(routes, problems)
  if (docs !== undefined) findNameCollisions(routes, problems)
}

/** Writes the document when it is first asked for; with the documentation off under the default title. */
export function documentReader(
  routes: readonly PlannedRoute[],
  docs: ResolvedDocs | undefined,
): () => OpenApiDocument {
  let document: OpenApiDocument | undefined
  return () => {
    const options = docs ?? resolveDocsOptions(true, [])
    if (options === undefined) throw new TypeError('The documentation has no options.')
    document ??= createDocument(routes, options)
    return document
  }
}

export interface DocsRoute {
  readonly pattern: Pattern
  readonly served: ServedRoute
}

/** A route for each page, for GET and HEAD. None where the documentation is off. */
export function docsRoutes(
  docs: ResolvedDocs | undefined,
  read: () => OpenApiDocument,
  { gate, timeout }: { readonly gate: Gate; readonly timeout: number },
): DocsRoute[] {
  if (docs === undefined) return []
  return docsPages(docs, read).flatMap(({ path, access, answer }) => {
    const pattern = parsePattern(path, `bootstrap docs ${path}`, [])
    if (pattern === undefined) return []
    const served: ServedRoute = {
      name: `docs ${path}`,
      pathNames: pattern.names,
      before: access.open ? [] : [(request) => promiseOf(gate.admit(request, access))],
      invoke: answer,
      shape: undefined,
      after: [],
      rule: { status: 200, notFoundWhenEmpty: false },
      timeout,
    }
    return [{ pattern, served }]
  })
}
