/**
 * The GraphQL instances of an application: the routes and WebSockets of their endpoints, and custom decorators on their root
 * fields.
 */

import { promise } from '../core/maybe-promise.js'
import type { Gate } from '../auth/gate.js'
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { HttpError } from '../errors/http-error.js'
import { errorReply } from '../graphql/endpoint.js'
import { GraphQL } from '../graphql/graphql.js'
import {
  graphqlEndpoints,
  isSubscription,
  queryParts,
  type GraphqlEndpoint,
} from '../graphql/graphql-endpoints.js'
import { requestedOperation } from '../graphql/operation-request.js'
import { readNamedOperation, interceptedRoots } from '../graphql/root-interceptors.js'
import { ServerRequest } from '../http/server-request.js'
import type { RouteInfo } from '../routing/route.js'
import type { Intercept, Next } from '../extensions/interceptor.js'
import { type PipelineEntry, surround, type Step } from '../serving/served-route.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'
import {
  createInterceptors,
  type FindInstance,
  type PlannedInterceptor,
} from '../serving/interceptors.js'
import { planDecorator } from './plan-interceptors.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { SocketEndpoint } from '../serving/sockets/socket-endpoints.js'
import { hasWebSockets } from '../serving/sockets/web-socket.js'
import type { DocumentedEndpoint } from '../openapi/graphql-paths.js'
import type { Limits } from '../http/limits.js'
import type { ModuleParts } from './module.js'
import { applicationGraphqlOptions, type ApplicationGraphQLOptions } from './options.js'
import { followPromises } from '../serving/current-request.js'
import { readWithin } from '../http/bodies/read-body.js'
import { openSession, saveSession, type ServeContext } from '../serving/serve-route.js'

/** Reports at the start that sockets are required but the package `ws` is missing. */
function checkSockets(instances: readonly GraphQL[], problems: Problems): void {
  if (!instances.some(({ sockets }) => sockets === true) || hasWebSockets()) return
  problems.add({
    code: 'SOCKETS_DRIVER_MISSING',
    message: 'bootstrap graphql: sockets is true, and the package ws is not installed.',
    remedy: 'Run: npm install ws. Or omit sockets.',
  })
}

export function socketEndpoints(
  instances: readonly GraphQL[],
  basePath: string,
): readonly SocketEndpoint[] {
  return instances
    .filter(({ sockets }) => sockets !== false)
    .flatMap((instance) =>
      instance.routes.map(({ path }) => ({
        path: joinPaths(basePath, path),
        maxBytes: instance.limits.bytes,
        isSubscription: (body: unknown) => isSubscription(instance, body),
      })),
    )
}

export interface PlannedGraphql {
  /** `app.graphql`: the instance of the records, otherwise the first of the modules. */
  readonly main: GraphQL | undefined
  readonly instances: readonly GraphQL[]
}

/**
 * Collects the modules' instances, and adds one for the application's own records unless an instance already has that
 * path.
 *
 * @param option false turns GraphQL off
 * @param cost the cost limit of operations if the option sets none
 */
export function planGraphql(
  { graphql: declared, ownRecords: records }: ModuleParts,
  option: ApplicationGraphQLOptions | boolean | undefined,
  cost: number,
  problems: Problems,
): PlannedGraphql {
  if (option === false) return { main: undefined, instances: [] }
  const input = option === true ? {} : (option ?? {})
  const { path = '/graphql', secured, noAuth, ...options } = input
  const isTaken = declared.some(({ routes }) => routes.some((route) => route.path === path))
  // Problems of the options are reported with the other options of `bootstrap`.
  const isValid = applicationGraphqlOptions.findProblems(input).length === 0
  if (records.length === 0 || isTaken || !isValid) {
    checkPaths(declared, undefined, problems)
    return { main: declared[0], instances: declared }
  }
  const main = new GraphQL({ ...options, limits: { cost, ...options.limits } })
  for (const record of records) main.schema.fromOrm(record)
  main.registerRoute(path, {
    ...(secured === undefined ? {} : { secured }),
    ...(noAuth === undefined ? {} : { noAuth }),
  })
  const instances = [main, ...declared]
  checkPaths(instances, main, problems)
  return { main, instances }
}

/** The endpoints of the instances, for the document. */
export function documentedEndpoints({ instances }: PlannedGraphql): DocumentedEndpoint[] {
  return instances.flatMap((instance) =>
    instance.routes.map(({ path, access }) => ({ path, read: instance.accessFor(access).read })),
  )
}

/**
 * Builds the schema of each instance. An instance without a route cannot be reached, which is usually a mistake.
 *
 * @param isClosed true if queries without another rule require a token
 */
export function prepareGraphql(
  { instances }: PlannedGraphql,
  isClosed: boolean,
  problems: Problems,
): void {
  checkSockets(instances, problems)
  for (const [index, instance] of instances.entries()) {
    const before = problems.count
    instance.prepare(isClosed, problems)
    if (instance.routes.length > 0 || problems.count > before) continue
    problems.add({
      code: 'GRAPHQL_ROUTE_MISSING',
      message: `GraphQL: the instance at position ${index + 1} of the modules' graphql has no route.`,
      remedy: "Call its registerRoute('/graphql'), or remove it from the module.",
    })
  }
}

/** @param main the instance whose path is an option of `bootstrap`. Programs register the paths of all other instances */
function checkPaths(
  instances: readonly GraphQL[],
  main: GraphQL | undefined,
  problems: Problems,
): void {
  const paths = new Set<string>()
  for (const instance of instances)
    for (const { path } of instance.routes) {
      const option = instance === main ? 'bootstrap graphql' : 'GraphQL.registerRoute'
      const placed = problems.at(`${option} ${path}`)
      if (paths.has(path)) {
        placed.add({
          code: 'DUPLICATE_ROUTE',
          message: `another GraphQL instance has this path.`,
          remedy: 'Register one of them at another path.',
        })
      }
      paths.add(path)
      parsePattern(path, placed)
    }
}

interface GraphqlServing {
  readonly limits: Limits
  readonly basePath: string
  /** The interceptors around the operations of an instance; undefined if there are none. */
  readonly around: (instance: GraphQL) => Intercept | undefined
}

/** Routes for the endpoints and the IDE of each instance. */
export function graphqlRoutes(
  { instances }: PlannedGraphql,
  context: ServeContext,
  { limits, basePath, around }: GraphqlServing,
): FrameworkRoute[] {
  const bodyReader = (body: number): Step =>
    readWithin({ limits: { ...limits, body }, isRequired: false }, context.times)
  return instances.flatMap((instance) => {
    const intercept = around(instance)
    return instance.routes
      .map(({ path, access }) => ({
        path: joinPaths(basePath, path),
        access: instance.accessFor(access),
      }))
      .flatMap((route) => graphqlEndpoints(instance, route, { gate: context.gate, bodyReader }))
      .flatMap((endpoint) => serve(endpoint, context, intercept))
  })
}

function serve(
  endpoint: GraphqlEndpoint,
  { sessions, times, promises }: ServeContext,
  intercept: Intercept | undefined,
): FrameworkRoute[] {
  const { method, path, runsOperations, before, handle } = endpoint
  const pattern = parsePattern(path, new Problems())
  if (pattern === undefined) return []
  const steps = {
    before: [
      ...(runsOperations ? [openSession(sessions)] : []),
      ...(before === undefined ? [] : [before]),
    ],
    after: runsOperations ? [saveSession(sessions)] : [],
  }
  const invoke =
    runsOperations && promises !== undefined
      ? followPromises(handle, `${method} ${path}`, promises)
      : handle
  const options = { pattern, name: 'graphql', method, invoke, timeout: times.handler }
  if (!runsOperations || intercept === undefined) return [frameworkRoute({ ...options, ...steps })]
  const { served } = frameworkRoute({ ...options, after: steps.after })
  const entries = [...steps.before.map((step) => ({ step })), { intercept }]
  return [{ method, pattern, served: surround(served, entries) }]
}

// Custom decorators on root fields. They are planned at the start, and run around operations that select the fields.

interface PlannedRoot {
  readonly info: RouteInfo
  readonly interceptors: readonly PlannedInterceptor[]
}

/** By field, e.g. `Query.items`, for each instance with such decorators. */
export type GraphqlInterceptors = ReadonlyMap<GraphQL, ReadonlyMap<string, PlannedRoot>>

/** @param problems receives problems that decorators report; an invalid schema is reported elsewhere */
export function planGraphqlInterceptors(
  instances: readonly GraphQL[],
  problems: Problems,
): GraphqlInterceptors {
  const all = new Map<GraphQL, ReadonlyMap<string, PlannedRoot>>()
  for (const instance of instances) {
    const roots = new Map<string, PlannedRoot>()
    for (const [name, { info, interceptors }] of readRoots(instance)) {
      roots.set(name, {
        info,
        interceptors: interceptors.flatMap(
          (one) => planDecorator(one, info, problems).planned ?? [],
        ),
      })
    }
    if (roots.size > 0) all.set(instance, roots)
  }
  return all
}

function readRoots(instance: GraphQL): ReturnType<typeof interceptedRoots> {
  try {
    return interceptedRoots(instance)
  } catch (error) {
    if (error instanceof DeclarationError) return new Map()
    throw error
  }
}

/** All decorators and interceptors, for the container. */
export function listGraphqlInterceptors(all: GraphqlInterceptors): PlannedInterceptor[] {
  return [...all.values()].flatMap((roots) =>
    [...roots.values()].flatMap(({ interceptors }) => interceptors),
  )
}

/**
 * Makes the interceptor around the operations of an instance.
 *
 * @returns undefined if there are no decorators
 */
export function aroundOperations(
  instance: GraphQL,
  all: GraphqlInterceptors,
  find: FindInstance,
  gate: Gate,
): Intercept | undefined {
  const planned = all.get(instance)
  if (planned === undefined) return undefined
  const problems = new Problems()
  const interceptorsByField = new Map<string, readonly Intercept[]>()
  for (const [name, { info, interceptors }] of planned) {
    const { gate: outer, body, handler } = createInterceptors(interceptors, info, find, problems)
    interceptorsByField.set(name, [...outer, ...body, ...handler].map(toIntercept))
  }
  problems.throwIfAny()
  return async (request, next) => {
    if (!(request instanceof ServerRequest)) return next()
    const { method, body } = request
    const operation = readNamedOperation(instance, method === 'POST' ? body : queryParts(request))
    const interceptors =
      operation?.roots.flatMap((name) => interceptorsByField.get(name) ?? []) ?? []
    if (operation === undefined || interceptors.length === 0) return next()
    const roots = operation.roots.map((name) => planned.get(name)?.info)
    requestedOperation.set(request, { ...operation, roots })
    try {
      // The caller must be identified; an invalid token is reported later by the endpoint.
      await gate.recognise(request)
    } catch {
      return next()
    }
    const run = interceptors.reduceRight<() => Promise<unknown>>(
      (inner, interceptor) => () => promise(() => interceptor(request, inner as Next)),
      () => next(),
    )
    return run().catch(toErrorReply)
  }
}

function toIntercept(line: PipelineEntry): Intercept {
  if ('intercept' in line) return line.intercept
  return async (request, next) => {
    if (request instanceof ServerRequest) await line.step(request)
    return await next()
  }
}

/** @returns the error in the form that GraphQL clients expect */
function toErrorReply(error: unknown): unknown {
  if (error instanceof HttpError) return errorReply(error)
  throw error
}
