/** The GraphQL instances of an application, and the routes and WebSockets of their endpoints. */
import type { Problem } from '../errors/declaration-error.js'
import {
  GraphQL,
  findOptionProblems,
  graphqlOptionNames,
  type GraphQLHost,
  type GraphQLOptions,
} from '../graphql/graphql.js'
import {
  isSubscription,
  graphqlEndpoints,
  type GraphqlEndpoint,
} from '../graphql/graphql-endpoints.js'
import type { UpgradeHandler } from '../http/upgrade.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import { createUpgrades, type UpgradesOptions } from '../serving/sockets/upgrades.js'
import { hasWebSockets } from '../serving/sockets/web-socket.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import type { DocumentedEndpoint } from '../openapi/graphql-paths.js'
import type { Limits } from '../http/limits.js'
import type { Method } from '../routing/route-table.js'
import type { Parts } from './module.js'
import type { ApplicationGraphQLOptions } from './options.js'
import { followPromises } from '../serving/floating-promises.js'
import { frameworkRoute, type FrameworkRoute, toSteps, type Step } from '../serving/served-route.js'
import { openSession, readWithin, saveSession, type ServeContext } from '../serving/serve-route.js'
import type { Intercept } from '../extensions/interceptor.js'

/** Reports at the start that sockets are required but the package `ws` is missing. */
function findSocketProblems(instances: readonly GraphQL[], problems: Problem[]): void {
  if (!instances.some(({ sockets }) => sockets === true) || hasWebSockets()) return
  problems.push({
    code: 'SOCKETS_DRIVER_MISSING',
    message:
      'bootstrap graphql: sockets is true, and the package ws, which speaks them, is not installed.',
    remedy: 'Run: npm install ws. Or leave sockets out.',
  })
}

/** @returns undefined if no endpoint accepts sockets */
export function createGraphqlUpgrades(
  instances: readonly GraphQL[],
  basePath: string,
  options: Omit<UpgradesOptions, 'routes'>,
): UpgradeHandler | undefined {
  const routes = instances
    .filter(({ sockets }) => sockets !== false)
    .flatMap((instance) =>
      instance.routes.map(({ path }) => ({
        path: joinPaths(basePath, path),
        bytes: instance.limits.bytes,
        isSubscription: (body: unknown) => isSubscription(instance, body),
      })),
    )
  return createUpgrades({ ...options, routes })
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
  { graphql: declared, ownRecords: records }: Parts,
  option: ApplicationGraphQLOptions | boolean | undefined,
  cost: number,
  problems: Problem[],
): PlannedGraphql {
  if (option === false) return { main: undefined, instances: [] }
  const input = option === true ? {} : (option ?? {})
  refuseUnknownNames('bootstrap graphql', input, optionNames, problems)
  const { path = '/graphql', secured, noAuth, ...rest } = input
  const isTaken = declared.some(({ routes }) => routes.some((route) => route.path === path))
  // Unknown names are reported above. The other options are also checked if no endpoint is created
  // from them.
  const knownOptions = Object.entries(rest).filter(([name]) => name in graphqlOptionNames)
  const options: GraphQLOptions = Object.fromEntries(knownOptions)
  const optionProblems = findOptionProblems('bootstrap graphql', options)
  problems.push(...optionProblems)
  if (records.length === 0 || isTaken || optionProblems.length > 0) {
    checkDuplicatePaths(declared, problems)
    return { main: declared[0], instances: declared }
  }
  const main = new GraphQL({ ...options, limits: { cost, ...options.limits } })
  for (const record of records) main.schema.fromOrm(record)
  main.registerRoute(path, {
    ...(secured === undefined ? {} : { secured }),
    ...(noAuth === undefined ? {} : { noAuth }),
  })
  const instances = [main, ...declared]
  checkDuplicatePaths(instances, problems)
  return { main, instances }
}

const optionNames: Readonly<Record<keyof ApplicationGraphQLOptions, true>> = {
  ...graphqlOptionNames,
  path: true,
  secured: true,
  noAuth: true,
}

/** The endpoints of the instances, for the document. */
export function documentedEndpoints({ instances }: PlannedGraphql): DocumentedEndpoint[] {
  return instances.flatMap((instance) =>
    instance.routes.map(({ path, access }) => ({ path, read: instance.accessFor(access).read })),
  )
}

/**
 * Collects the problems of each instance. An instance without a route cannot be reached, which is usually a mistake.
 */
export function prepareGraphql(
  { instances }: PlannedGraphql,
  host: GraphQLHost,
  problems: Problem[],
): void {
  findSocketProblems(instances, problems)
  for (const [index, instance] of instances.entries()) {
    const before = problems.length
    instance.bind(host)
    instance.prepare(problems)
    if (instance.routes.length > 0 || problems.length > before) continue
    problems.push({
      code: 'GRAPHQL_ROUTE_MISSING',
      message: `The GraphQL at position ${index + 1} of the modules' graphql has no route.`,
      remedy: "Call its registerRoute('/graphql'), or remove it from the module.",
    })
  }
}

function checkDuplicatePaths(instances: readonly GraphQL[], problems: Problem[]): void {
  const paths = new Set<string>()
  for (const { path } of instances.flatMap(({ routes }) => routes)) {
    if (paths.has(path)) {
      problems.push({
        code: 'DUPLICATE_ROUTE',
        message: `Two GraphQL instances have the path ${path}.`,
        remedy: 'Register one of them at another path.',
      })
    }
    paths.add(path)
    parsePattern(path, `GraphQL.registerRoute ${path}`, problems)
  }
}

export interface GraphqlRoute extends FrameworkRoute {
  readonly method: Method
}

export interface GraphqlServing {
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
): GraphqlRoute[] {
  const bodyReader = (body: number): Step =>
    readWithin({ limits: { ...limits, body }, declared: false }, context.times)
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
): GraphqlRoute[] {
  const { method, path, runsOperations: runs, before, handle } = endpoint
  const pattern = parsePattern(path, `bootstrap graphql ${path}`, [])
  if (pattern === undefined) return []
  const steps = {
    before: [...(runs ? [openSession(sessions)] : []), ...(before === undefined ? [] : [before])],
    after: runs ? [saveSession(sessions)] : [],
  }
  const invoke =
    runs && promises !== undefined ? followPromises(handle, `${method} ${path}`, promises) : handle
  const options = { pattern, name: 'graphql', method, invoke, timeout: times.handler }
  const route = frameworkRoute({ ...options, ...steps })
  if (!runs || intercept === undefined) return [{ method, ...route }]
  const lines = [...steps.before.map((step) => ({ step })), { intercept }]
  return [{ method, ...route, served: Object.freeze({ ...route.served, ...toSteps(lines) }) }]
}
