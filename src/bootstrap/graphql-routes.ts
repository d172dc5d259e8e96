/** Connects GraphQL to the application: its instances, their problems at the start, its endpoints and IDE as routes. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import {
  findOptionProblems,
  GraphQL,
  graphqlOptionNames,
  type GraphQLHost,
  type GraphQLOptions,
} from '../graphql/graphql.js'
import { graphqlEndpoints, type GraphqlEndpoint } from '../graphql/graphql-endpoints.js'
import type { DocumentedEndpoint } from '../openapi/graphql-paths.js'
import type { Limits } from '../http/limits.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { Method } from '../routing/route-table.js'
import type { Parts } from './module.js'
import type { ApplicationGraphQLOptions } from './options.js'
import { followPromises } from '../serving/floating-promises.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'
import { findSocketProblems } from './graphql-sockets.js'
import { openSession, readWithin, saveSession, type ServeContext } from '../serving/serve-route.js'
import type { Intercept } from '../extensions/interceptor.js'
import { toSteps, type Step } from '../serving/served-route.js'

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
  const given = option === true ? {} : (option ?? {})
  refuseUnknownNames('bootstrap graphql', given, optionNames, problems)
  const { path = '/graphql', secured, noAuth, ...rest } = given
  const isTaken = declared.some(({ routes }) => routes.some((route) => route.path === path))
  // Unknown names are reported above: the others are checked also where no endpoint is made of them.
  const known = Object.entries(rest).filter(([name]) => name in graphqlOptionNames)
  const options: GraphQLOptions = Object.fromEntries(known)
  const within = findOptionProblems('bootstrap graphql', options)
  problems.push(...within)
  if (records.length === 0 || isTaken || within.length > 0) {
    refuseTwins(declared, problems)
    return { main: declared[0], instances: declared }
  }
  const main = new GraphQL({ ...options, limits: { cost, ...options.limits } })
  for (const record of records) main.schema.fromOrm(record)
  main.registerRoute(path, {
    ...(secured === undefined ? {} : { secured }),
    ...(noAuth === undefined ? {} : { noAuth }),
  })
  const instances = [main, ...declared]
  refuseTwins(instances, problems)
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

/** Collects the faults of each instance. One without a route could not be reached, which is usually a mistake. */
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

function refuseTwins(instances: readonly GraphQL[], problems: Problem[]): void {
  const seen = new Set<string>()
  for (const { path } of instances.flatMap(({ routes }) => routes)) {
    if (seen.has(path)) {
      problems.push({
        code: 'DUPLICATE_ROUTE',
        message: `Two GraphQL instances have the path ${path}.`,
        remedy: 'Register one of them at another path.',
      })
    }
    seen.add(path)
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
  given: GraphqlEndpoint,
  { sessions, times, promises }: ServeContext,
  intercept: Intercept | undefined,
): GraphqlRoute[] {
  const { method, path, runsOperations: runs, before, handle: answer } = given
  const pattern = parsePattern(path, `bootstrap graphql ${path}`, [])
  if (pattern === undefined) return []
  const steps = {
    before: [...(runs ? [openSession(sessions)] : []), ...(before === undefined ? [] : [before])],
    after: runs ? [saveSession(sessions)] : [],
  }
  const invoke =
    runs && promises !== undefined ? followPromises(answer, `${method} ${path}`, promises) : answer
  const own = { pattern, name: 'graphql', method, invoke, timeout: times.handler }
  const route = frameworkRoute({ ...own, ...steps })
  if (!runs || intercept === undefined) return [{ method, ...route }]
  const lines = [...steps.before.map((step) => ({ step })), { intercept }]
  return [{ method, ...route, served: Object.freeze({ ...route.served, ...toSteps(lines) }) }]
}
