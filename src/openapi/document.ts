/**
 * Creates the OpenAPI 3.1 document of an application, as an object or as YAML. Source: decisions, OpenAPI;
 * OpenAPI 3.1.1.
 */
import type {
  OpenAPIObject,
  ComponentsObject,
  OperationObject,
  PathItemObject,
  ResponseObject,
  SchemaObject,
  SecurityRequirementObject,
  SecuritySchemeObject,
  ServerObject,
  TagObject,
} from 'openapi3-ts/oas31'
import { noAuthAccess, waysIn, withDemands } from '../auth/access.js'
import type { TokenSource } from '../auth/options.js'
import { docMetadata, type DocMetadata } from './doc.js'
import { reachable } from '../routing/route.js'
import {
  assignPaths,
  controllerLabel,
  operationIds,
  dependsOnCaller,
  isOperational,
  type DocumentedRoute,
} from './documented-route.js'
import {
  bearerAuth,
  cookieAuth,
  errorResponses,
  errorSchemas,
  freshToken,
  tokenAuth,
  createCustomErrors,
  type CustomErrors,
} from './error-components.js'
import type { ErrorFormat } from '../http/error-form.js'
import { graphqlPath, type DocumentedEndpoint, type OpenApiVersion } from './graphql-paths.js'
import {
  compactFilter,
  declaredParameter,
  exactFilter,
  readDeclaredRequest,
  headerParameters,
  pathParameters,
  queryParameters,
  requestBody,
  type DeclaredFilter,
  type DeclaredOperator,
  type FilterForm,
} from './requests.js'
import { routeResponses } from './responses.js'
import { createSchemas, type SchemaComponents } from './schemas.js'
import type { VisibleMembers } from './visible-members.js'

export async function toYaml(document: OpenAPIObject): Promise<string> {
  const { OpenApiBuilder } = await import('openapi3-ts/oas31')
  // Without anchors, because the same object may occur several times, such as the sample of a class.
  return OpenApiBuilder.create(document).getSpecAsYaml(undefined, { aliasDuplicateObjects: false })
}

export type OpenApiDocument = OpenAPIObject

export interface DocumentOptions {
  readonly title: string
  readonly version: string
  readonly description?: string | undefined
  /** The addresses of the application. */
  readonly servers: readonly ServerObject[]
  /**
   * The prefix before every path of the application; it is part of the servers' addresses, not of the paths. Default:
   * none.
   */
  readonly basePath?: string
  /** Descriptions of tags by name; these tags come first. */
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** The name of the cookie that may have the token, over https. Default: no cookie. */
  readonly cookie?: string | undefined
  /** Where else tokens are read. Default: nowhere. */
  readonly source?: TokenSource
  /** The application's own form of errors. Default: the standard form. */
  readonly errors?: ErrorFormat | undefined
  /** Endpoints of GraphQL, listed after the routes. Default: none. */
  readonly endpoints?: readonly DocumentedEndpoint[]
  /** The records that callers without a sign-in can read. Default: none. */
  readonly openRecords?: DocumentedRecords
  /** The version of OpenAPI that it is written in. Default `3.1`. */
  readonly openapi?: OpenApiVersion
  /** Default `exact`. */
  readonly filters?: FilterForm
}

/** Names of records for `x-open-records`. */
export interface DocumentedRecords {
  /** Callers without a sign-in can read rows. */
  readonly readable: readonly string[]
  /** Open, but rows are shown only after a sign-in. */
  readonly withoutRows: readonly string[]
}

/**
 * Creates the document from all routes, listed in this order: the application's own, GraphQL, packages, probes and
 * metrics. Called when the document is first requested; `findDocProblems` has checked the routes before.
 */
export function createDocument(
  all: readonly DocumentedRoute[],
  options: DocumentOptions,
): OpenApiDocument {
  const declared = reachable(all)
  const groups = [0, 1, 2].map((group) => declared.filter((one) => groupOf(one) === group))
  const routes = groups.flat()
  const [applicationRoutes = []] = groups
  const firstPackageRoute = routes[applicationRoutes.length]
  const { servers, basePath = '' } = options
  const schemes = securitySchemes(options)
  const sentSchemes = Object.keys(schemes).filter((name) => name !== 'cookieAuth')
  const schemas = createSchemas()
  const customErrors = options.errors && createCustomErrors(options.errors, schemas)
  const ids = operationIds(routes)
  const paths: Record<string, PathItemObject> = {}
  const { title, version, description, openapi = '3.1', endpoints = [], filters } = options
  const addEndpoints = (): void => {
    for (const [index, endpoint] of endpoints.entries()) {
      paths[endpoint.path] ??= graphqlPath(endpoint, index + 1, {
        version: openapi,
        schemes: sentSchemes,
      })
    }
  }
  const docs = new Map(
    routes.map((documented) => [
      documented,
      docMetadata(documented.route.controller, documented.route.member),
    ]),
  )
  for (const { documented, path, names } of assignPaths(routes, basePath)) {
    if (documented === firstPackageRoute) addEndpoints()
    const { method } = documented.route
    const described = toOperation(documented, {
      ...{ docs, ids, names, schemas, schemes, filters },
    })
    const changed = applyChanges(documented, described)
    const operation =
      documented.ofPackage === true ? changed : (customErrors?.operation(changed) ?? changed)
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  addEndpoints()
  return {
    openapi: openapi === '3.2' ? '3.2.0' : '3.1.1',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    servers: servers.map((server) => withBasePath(basePath, server)),
    tags: collectTags(docs, options.tags ?? {}),
    ...openExtension(options.openRecords),
    ...(filters === 'compact' && { 'x-operators': documentedOperators(routes, schemas.visible) }),
    paths,
    components: toComponents(routes, schemas, { paths, schemes, endpoints, customErrors }),
  }
}

/** The operators of all filters by name. The parameters of a compact document refer to them. */
function documentedOperators(
  routes: readonly DocumentedRoute[],
  visible: VisibleMembers,
): Readonly<Record<string, Omit<DeclaredOperator, 'name'>>> {
  const filters = routes.flatMap(
    ({ route }) => readDeclaredRequest(route.controller, route.member, visible)?.filters ?? [],
  )
  const operators = filters.flatMap((filter) => filter.operators)
  return Object.fromEntries(operators.map(({ name, ...operator }) => [name, operator]))
}

function openExtension(records: DocumentedRecords | undefined): object {
  if (records === undefined || records.readable.length + records.withoutRows.length === 0) return {}
  const { readable, withoutRows } = records
  return { 'x-open-records': { readable, ...(withoutRows.length > 0 && { withoutRows }) } }
}

/** 0: the application's own routes, 1: routes of packages, 2: probes and metrics. */
function groupOf(documented: DocumentedRoute): number {
  if (isOperational(documented)) return 2
  return documented.ofPackage === true ? 1 : 0
}

/**
 * The operations of some routes by themselves, and the schemas of all of them, for protocols that offer routes in
 * another form.
 *
 * @param all the routes that make the names of operations unique
 */
export function describeOperations<Documented extends DocumentedRoute>(
  all: readonly Documented[],
  includes: (documented: Documented) => boolean,
  visible: VisibleMembers,
): {
  readonly operations: ReadonlyMap<Documented, OperationObject>
  readonly schemas: Readonly<Record<string, SchemaObject>>
} {
  const schemas = createSchemas(visible)
  const ids = operationIds(all)
  const operations = new Map<Documented, OperationObject>()
  for (const documented of all.filter(includes)) {
    const { names } = documented.route.pattern
    const described = toOperation(documented, {
      docs: new Map(),
      ids,
      names,
      schemas,
      schemes: securitySchemes({}),
    })
    operations.set(documented, applyChanges(documented, described))
  }
  return { operations, schemas: Object.fromEntries(schemas.components) }
}

/** Applies the changes of custom decorators, in order. */
function applyChanges(documented: DocumentedRoute, operation: OperationObject): OperationObject {
  return (documented.documents ?? []).reduce((current, change) => change(current), operation)
}

/** A server whose address already ends with the prefix is not changed. */
function withBasePath(basePath: string, server: ServerObject): ServerObject {
  const url = server.url.replace(/\/$/, '')
  if (basePath === '' || url.endsWith(basePath)) return server
  return { ...server, url: url + basePath }
}

interface OperationContext {
  readonly docs: ReadonlyMap<DocumentedRoute, DocMetadata>
  readonly ids: ReadonlyMap<DocumentedRoute, string>
  readonly names: readonly string[]
  readonly schemas: SchemaComponents
  readonly schemes: SecuritySchemes
  /** Default `exact`. */
  readonly filters?: FilterForm | undefined
}

/** How a token may be sent, by the name in the document. */
type SecuritySchemes = Readonly<Record<string, SecuritySchemeObject>>

function securitySchemes({
  source = {},
  cookie,
}: Pick<DocumentOptions, 'source' | 'cookie'>): SecuritySchemes {
  const tokenScheme = tokenAuth(source)
  return {
    ...(tokenScheme !== undefined && { tokenAuth: tokenScheme }),
    bearerAuth: { ...bearerAuth },
    ...(cookie !== undefined && { cookieAuth: { ...cookieAuth, name: cookie } }),
  }
}

function toOperation(documented: DocumentedRoute, context: OperationContext): OperationObject {
  const { route, classes } = documented
  const { schemas } = context
  const doc = context.docs.get(documented) ?? docMetadata(route.controller, route.member)
  const declared = readDeclaredRequest(route.controller, route.member, schemas.visible)
  const filters = declared?.filters ?? []
  const parameters = [
    ...pathParameters(route.pattern, context.names, declared?.key),
    ...(classes.query === undefined
      ? []
      : queryParameters(classes.query.type, schemas, route.options.groups)),
    ...(declared?.parameters ?? []).map(declaredParameter),
    ...filters.flatMap(context.filters === 'compact' ? compactFilter : exactFilter),
    ...headerParameters(doc.headers),
  ]
  const body = requestBody(documented, doc, schemas)
  const text = declared?.description ?? doc.description
  const description = withDemands(
    context.filters === 'compact' ? withOperators(text, filters) : (text ?? ''),
    documented.access,
  )
  return {
    tags: [...tagsOf(documented, doc)],
    summary: doc.summary ?? shortened(text) ?? toSummary(route.member),
    ...(description === '' ? {} : { description }),
    operationId: context.ids.get(documented) ?? route.member,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: routeResponses(documented, doc, schemas),
    ...(doc.deprecated ? { deprecated: true } : {}),
    security: security(documented, context.schemes),
  }
}

/** Appends the meaning of the operators, which the parameters of a compact document only name. */
function withOperators(text: string | undefined, filters: readonly DeclaredFilter[]): string {
  const operators = filters.flatMap((filter) => filter.operators)
  const meanings = new Map(operators.map(({ name, description }) => [name, description]))
  const lines = [...meanings].map(([name, meaning]) => `- \`${name}\`: ${meaning}`)
  const list = lines.length === 0 ? [] : [`Operators of filters:\n${lines.join('\n')}`]
  return [...(text === undefined ? [] : [text]), ...list].join('\n\n')
}

function tagsOf({ route }: DocumentedRoute, doc: DocMetadata): readonly string[] {
  return doc.tags ?? [controllerLabel(route.controller.name)]
}

/** A description that fits on one line is a better summary than the method's name. */
function shortened(description: string | undefined): string | undefined {
  if (description === undefined || !/^[^\n<>*_`[\]]{1,80}$/.test(description)) return undefined
  return description.replace(/\.$/, '')
}

/** `listByOwner` → `List by owner`. */
function toSummary(member: string): string {
  const spaced = member.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[_$\s]+/g, ' ')
  const text = spaced.trim().toLowerCase()
  return text === '' ? member : text.charAt(0).toUpperCase() + text.slice(1)
}

/**
 * The security requirements: several roles are alternatives, one requirement each; if all are needed, they are one
 * requirement.
 */
function security(
  documented: DocumentedRoute,
  schemes: SecuritySchemes,
): SecurityRequirementObject[] {
  const { access } = documented
  const takesCookie = access !== noAuthAccess
  const means = Object.keys(schemes).filter((name) => takesCookie || name !== 'cookieAuth')
  const by = (roles: readonly string[]): SecurityRequirementObject[] =>
    means.map((name) => ({ [name]: [...roles] }))
  if (access.open) return dependsOnCaller(documented) ? [{}, ...by([])] : []
  return waysIn(access).flatMap(by)
}

/** Every tag once. A class's `@Doc` describes the first tag of its routes. */
function collectTags(
  docs: ReadonlyMap<DocumentedRoute, DocMetadata>,
  described: Readonly<Record<string, string>>,
): TagObject[] {
  const tags = new Map<string, string | undefined>(Object.entries(described))
  for (const [documented, doc] of docs) {
    for (const [index, tag] of tagsOf(documented, doc).entries()) {
      const about = index === 0 ? doc.about : undefined
      tags.set(tag, tags.get(tag) ?? about)
    }
  }
  return [...tags].map(([name, description]) => ({
    name,
    ...(description === undefined ? {} : { description }),
  }))
}

interface ComponentSources {
  readonly paths: Record<string, PathItemObject>
  readonly schemes: SecuritySchemes
  readonly customErrors: CustomErrors | undefined
  readonly endpoints: readonly DocumentedEndpoint[]
}

/** Only components that the document refers to. */
function toComponents(
  routes: readonly DocumentedRoute[],
  schemas: SchemaComponents,
  { paths, schemes, endpoints, customErrors }: ComponentSources,
): ComponentsObject {
  const secured =
    endpoints.length > 0 || routes.some((route) => !route.access.open || dependsOnCaller(route))
  const text = JSON.stringify(paths)
  const responsesByName: Readonly<Record<string, ResponseObject>> = {
    ...errorResponses,
    ...customErrors?.responses,
  }
  const used = Object.entries(responsesByName).filter(([name]) =>
    text.includes(`"#/components/responses/${name}"`),
  )
  const isStandard = used.some(([name]) => name in errorResponses)
  const components: ComponentsObject = {
    schemas: {
      ...Object.fromEntries(schemas.components),
      ...(Object.keys(paths).length === 0 || (customErrors !== undefined && !isStandard)
        ? {}
        : structuredClone(errorSchemas)),
    },
  }
  if (used.length > 0) {
    components.responses = Object.fromEntries(
      used.map(([name, response]) => [name, structuredClone(response)]),
    )
  }
  if (secured) {
    components.headers = { FreshToken: structuredClone(freshToken) }
    components.securitySchemes = schemes
  }
  return components
}
