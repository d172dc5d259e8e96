/** The documentation of an application: its problems at the start, the document when requested, and the routes of its files. */
import type { Gate } from '../auth/gate.js'
import type { ResolvedAuthOptions } from '../auth/options.js'
import { Problems } from '../errors/problems.js'
import { findDocProblems, findNameCollisions } from '../openapi/doc-problems.js'
import { resolveDocsOptions, type ResolvedDocs } from '../openapi/docs-options.js'
import { docsFiles, type ReadDocument } from '../openapi/docs-files.js'
import {
  createDocument,
  type DocumentedRecords,
  type OpenApiDocument,
} from '../openapi/document.js'
import type { DocumentedEndpoint } from '../openapi/graphql-paths.js'
import type { CookieNames } from '../http/cookie-names.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { Step } from '../serving/served-route.js'
import { promiseOf } from '../core/maybe-promise.js'
import { Undocumented } from '../extensions/custom-decorator.js'
import type { Settings } from './options.js'
import { versionsOf } from './versions.js'

/** @param docs `undefined` if the documentation is off: then names may collide */
export function findDocumentationProblems(
  routes: readonly PlannedRoute[],
  docs: ResolvedDocs | undefined,
  problems: Problems,
): void {
  findDocProblems(routes, problems)
  if (docs === undefined) return
  const versions = versionsOf(routes)
  for (const version of versions.length === 0 ? [undefined] : versions) {
    findNameCollisions(ofVersion(routes, version), problems)
  }
}

type DocumentedAuth = Pick<ResolvedAuthOptions, 'cookie' | 'source'> & {
  readonly cookieNames: CookieNames
}

interface DocumentSources {
  readonly routes: readonly PlannedRoute[]
  readonly settings: Pick<Settings, 'docs' | 'basePath' | 'errors'>
  /** Where tokens are accepted in addition to `Authorization: Bearer`. */
  readonly auth: DocumentedAuth
  /** The endpoints of GraphQL. */
  readonly endpoints: readonly DocumentedEndpoint[]
  /** The records that callers without a sign-in can read. */
  readonly records: () => DocumentedRecords
}

/**
 * Writes the document of a version when it is first requested. A document contains the routes of one version, and those
 * without a version. If the documentation is off, the document can still be read, with
 * the default options.
 */
export function documentReader({
  routes,
  settings: { docs, basePath, errors },
  auth: { cookie, source, cookieNames },
  endpoints,
  records,
}: DocumentSources): ReadDocument {
  const documents = new Map<string, OpenApiDocument>()
  const versions = versionsOf(routes)
  const options = docs ?? resolveDocsOptions(true, new Problems())
  if (options === undefined) throw new TypeError('The documentation has no options.')
  const read = (version = versions.at(-1), filters = options.filters): OpenApiDocument => {
    const key = JSON.stringify([version, filters])
    const cached = documents.get(key)
    if (cached !== undefined) return cached
    const document = createDocument(ofVersion(routes, version), {
      ...options,
      filters,
      basePath,
      cookie: cookie ? cookieNames.secureToken : undefined,
      source,
      errors,
      endpoints,
      openRecords: records(),
    })
    documents.set(key, document)
    return document
  }
  return Object.assign(read, { versions })
}

/** The documented routes of a version, and those without a version. */
function ofVersion(
  routes: readonly PlannedRoute[],
  version: string | undefined,
): readonly PlannedRoute[] {
  return routes.filter(
    ({ route, info }) =>
      info.metadata.get(Undocumented) === undefined &&
      (route.version === undefined || route.version === version),
  )
}

interface DocsContext {
  readonly gate: Gate
  readonly timeout: number
  readonly basePath: string
}

/** A route for each file, for GET and HEAD. An empty list if the documentation is off. */
export function docsRoutes(
  docs: ResolvedDocs | undefined,
  read: ReadDocument,
  { gate, timeout, basePath }: DocsContext,
): FrameworkRoute[] {
  if (docs === undefined) return []
  return docsFiles(docs, read).flatMap(({ path, access, respond }) => {
    const pattern = parsePattern(joinPaths(basePath, path), new Problems())
    if (pattern === undefined) return []
    const before: Step[] = access.open ? [] : [(request) => promiseOf(gate.admit(request, access))]
    return [frameworkRoute({ pattern, name: 'documentation', before, invoke: respond, timeout })]
  })
}
