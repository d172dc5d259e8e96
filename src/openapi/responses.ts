/**
 * The responses of a route: the declared ones, the documented samples, and the errors of authentication and validation.
 */
import { STATUS_CODES } from 'node:http'
import type {
  ContentObject,
  HeaderObject,
  HeadersObject,
  MediaTypeObject,
  ReferenceObject,
  ResponseObject,
  ResponsesObject,
} from 'openapi3-ts/oas31'
import { hasConditions as needsMore } from '../auth/access.js'
import { resolveType, type DeclaredType } from '../fields/field.js'
import { plainType, restType } from '../routing/pattern.js'
import { bodyMedia, describedHeader } from './requests.js'
import type { DocMetadata, DocResponse } from './doc.js'
import { anySuccess, dependsOnCaller, type DocumentedRoute } from './documented-route.js'
import { errorContent, errorReference } from './error-components.js'
import { inferSchema, toPlainJson } from './json-schema.js'
import { securedMembers, type SchemaComponents } from './schemas.js'

/** By ascending status, `default` last. */
export function routeResponses(
  documented: DocumentedRoute,
  doc: DocMetadata,
  schemas: SchemaComponents,
): ResponsesObject {
  const byStatus = new Map<number, ResponseObject | ReferenceObject>()
  const declared = declaredResponses(documented, doc)
  for (const [status, type] of declared) {
    byStatus.set(
      status,
      toResponse({ status, type, sample: sampleFor(status, declared, doc) }, schemas),
    )
  }
  for (const [status, reference] of frameworkResponses(documented, doc)) {
    if (!byStatus.has(status)) byStatus.set(status, reference)
  }
  for (const [status, response] of doc.responses) {
    const before = byStatus.get(status)
    const type = declared.get(status)
    byStatus.set(status, documentedResponse({ status, doc: response, before, type }, schemas))
  }
  const rising = [...byStatus].sort(([first], [second]) => first - second)
  const secured = !documented.access.open
  const fresh = (response: ResponseObject): ResponseObject =>
    secured ? withFreshToken(response) : response
  const entries = rising.map(([status, response]) => [
    String(status),
    isSuccess(status) && !('$ref' in response) ? fresh(response) : response,
  ])
  const declaredByStatus = Object.fromEntries(entries) as ResponsesObject
  const open = isUndeclared(documented, doc) ? undeclaredResponses(fresh(anyResponse)) : {}
  return { ...open, ...declaredByStatus, default: errorReference('Failure') }
}

/** Such a handler usually responds with 200, and generated clients look for it. */
function undeclaredResponses(any: ResponseObject): ResponsesObject {
  return { 200: any, '2XX': any, '3XX': redirection }
}

/** Whether no successful response is declared: then the handler may return anything. */
function isUndeclared({ route, classes }: DocumentedRoute, doc: DocMetadata): boolean {
  const declared = [...classes.returns.keys(), ...doc.responses.keys()]
  return route.options.status === undefined && !declared.some((status) => status < 400)
}

/** The declared responses, by status. */
function declaredResponses(
  documented: DocumentedRoute,
  doc: DocMetadata,
): ReadonlyMap<number, DeclaredType | undefined> {
  const { route, classes } = documented
  const successes = [...doc.responses.keys()].filter((status) => status < 400)
  const usual = route.options.status ?? successes.find(isSuccess) ?? 200
  const types = new Map<number, DeclaredType | undefined>()
  for (const [status, type] of classes.returns)
    types.set(status === anySuccess ? usual : status, type)
  const hasSample = Object.hasOwn(doc, 'exampleResponse')
  const hasSuccess = [...types.keys(), ...successes].some((status) => status < 400)
  if (hasSample || (!hasSuccess && !isUndeclared(documented, doc))) {
    if (![...types.keys()].some(isSuccess)) types.set(usual, undefined)
  }
  return types
}

/** The sample belongs to the first successful status. */
function sampleFor(
  status: number,
  declared: ReadonlyMap<number, unknown>,
  doc: DocMetadata,
): unknown {
  const first = [...declared.keys()].filter(isSuccess).sort((a, b) => a - b)[0]
  return status === first ? toPlainJson(doc.exampleResponse) : undefined
}

interface PlainResponse {
  readonly status: number
  readonly type: DeclaredType | undefined
  readonly sample: unknown
}

function toResponse(
  { status, type, sample }: PlainResponse,
  schemas: SchemaComponents,
): ResponseObject {
  const description = STATUS_CODES[status] ?? 'Answer'
  if (isBodyless(status)) return { description }
  const example: MediaTypeObject = sample === undefined ? {} : { example: sample }
  if (type !== undefined) {
    const schema = schemas.of(type, 'output')
    return { description, content: { 'application/json': { schema, ...example } } }
  }
  if (sample === undefined) return { description, content: anyContent }
  const media = typeof sample === 'string' ? 'text/plain' : 'application/json'
  return { description, content: { [media]: { schema: inferSchema(sample), ...example } } }
}

/** For routes that do not declare what they send. */
const anyContent: ContentObject = { '*/*': { schema: {} } }
const anyResponse: ResponseObject = {
  description: 'The value that the handler returns.',
  content: anyContent,
}
const redirection: ResponseObject = {
  description: 'A redirection, if the handler answers with one.',
  headers: { Location: { description: 'Where to go.', schema: { type: 'string' } } },
}

/** The error responses that the framework itself sends for this route. */
function frameworkResponses(
  documented: DocumentedRoute,
  doc: DocMetadata,
): [number, ReferenceObject][] {
  const { access, classes, route } = documented
  const { query, returns } = classes
  const reads = bodyMedia(documented, doc).length > 0
  const candidates: (readonly [boolean, number, ReferenceObject])[] = [
    [reads || query !== undefined, 400, errorReference('BadRequest')],
    [!access.open || dependsOnCaller(documented), 401, errorReference('Unauthorized')],
    [canBeForbidden(documented), 403, errorReference('Forbidden')],
    [canBeNotFound(route, returns), 404, errorReference('NotFound')],
    [reads, 413, errorReference('TooLarge')],
    [reads, 415, errorReference('UnsupportedMediaType')],
  ]
  return candidates.flatMap(([applies, status, reference]) =>
    applies ? [[status, reference]] : [],
  )
}

/** True if the route may respond with 404: a path parameter may be of another type, or the resource may be missing. */
function canBeNotFound(
  { method, pattern }: DocumentedRoute['route'],
  returns: DocumentedRoute['classes']['returns'],
): boolean {
  const types = pattern.segments.flatMap((part) => (part.kind === 'parameter' ? [part.type] : []))
  if (types.some((type) => type !== plainType && type !== restType)) return true
  const one = [...returns].some(
    ([status, { list }]) => !list && (status === anySuccess || isSuccess(status)),
  )
  // A resource that was just created exists.
  return one && (method === 'GET' || types.length > 0)
}

function canBeForbidden({ access, classes, route }: DocumentedRoute): boolean {
  if (!access.open && needsMore(access)) return true
  // For a record's own routes: filters cannot use fields that the caller may not read.
  return (
    route.argumentNames.includes('user') &&
    [...classes.returns.values()].some(({ type }) => securedMembers(type).size > 0)
  )
}

interface DocumentedResponse {
  readonly status: number
  readonly doc: DocResponse
  readonly before: ResponseObject | ReferenceObject | undefined
  /** The class that the route declares for the status. */
  readonly type: DeclaredType | undefined
}

/** Adds the `@Doc` of a status to the response that is known without it. */
function documentedResponse(
  documented: DocumentedResponse,
  schemas: SchemaComponents,
): ResponseObject {
  const { status, doc, before } = documented
  const existing = before !== undefined && !('$ref' in before) ? before : undefined
  const sample = toPlainJson(doc.example)
  const named = doc.type === undefined ? undefined : resolveType(doc.type)
  const type = named ?? (sample === undefined ? undefined : documented.type)
  const description = doc.description ?? existing?.description ?? STATUS_CODES[status] ?? 'Answer'
  const headers = documentedHeaders(doc)
  const response = responseFor(documented, schemas, { type, sample, existing })
  return {
    ...response,
    description,
    ...(headers === undefined ? {} : { headers: { ...response.headers, ...headers } }),
  }
}

function documentedHeaders({ headers = {} }: DocResponse): HeadersObject | undefined {
  const entries = Object.entries(headers).map(([name, value]): [string, HeaderObject] => {
    const header = typeof value === 'string' ? { description: value } : value
    return [
      name,
      { ...describedHeader(header), ...(header.required === true && { required: true }) },
    ]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

interface ResponseSource {
  readonly type: DeclaredType | undefined
  readonly sample: unknown
  /** The response without `@Doc`. */
  readonly existing: ResponseObject | undefined
}

function responseFor(
  { status }: DocumentedResponse,
  schemas: SchemaComponents,
  of: ResponseSource,
): ResponseObject {
  const { type, sample, existing } = of
  if (type !== undefined || sample !== undefined)
    return toResponse({ status, type, sample }, schemas)
  if (existing !== undefined) return existing
  if (status >= 400) return { description: '', content: errorContent }
  return toResponse({ status, type: undefined, sample: undefined }, schemas)
}

function withFreshToken(response: ResponseObject): ResponseObject {
  return {
    ...response,
    headers: { FreshToken: { $ref: '#/components/headers/FreshToken' }, ...response.headers },
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

function isBodyless(status: number): boolean {
  return status < 200 || status === 204 || status === 205 || (status >= 300 && status < 400)
}
