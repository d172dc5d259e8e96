/** Fills the route table of a planned application: first its own routes, then the framework's. */
import { Problems } from '../errors/problems.js'
import { restType } from '../routing/pattern.js'
import type { RouteInfo } from '../routing/route.js'
import { RouteTable, VersionedTable, type RouteLookup } from '../routing/route-table.js'
import type { FindFile } from '../serving/dispatcher.js'
import type { FrameworkRoute } from '../serving/framework-route.js'
import { createInterceptors, type FindInstance } from '../serving/interceptors.js'
import type { Invoker } from '../serving/invoker.js'
import { liveQueriesRoute, type Serve } from '../serving/live-connection.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import { type ServeContext, serveRoute } from '../serving/serve-route.js'
import { ServedRoute, surround, type PipelineEntry } from '../serving/served-route.js'
import { docsRoutes } from './docs-routes.js'
import { aroundOperations, graphqlRoutes } from './graphql-routes.js'
import type { ApplicationPlan } from './plan-application.js'
import type { FolderRoute } from './static-files.js'
import { versionReader } from './versions.js'

export interface FilledTable {
  /** Finds a file of a static folder. It has priority over a route with `<rest:path>`. Undefined without such folders. */
  readonly findFile: FindFile | undefined
  readonly table: RouteLookup<ServedRoute>
  /** The application's own routes, internal ones included. */
  readonly servedRoutes: ReadonlyMap<RouteInfo, ServedRoute>
  /** Runs interceptors of the application around requests without a route. Undefined if there are none. */
  readonly aroundUnmatched: ((refuse: Invoker) => ServedRoute) | undefined
}

type ServedTable = RouteTable<ServedRoute> | VersionedTable<ServedRoute>

/** Puts the application's interceptors around a route of the framework. */
type Surround = (served: ServedRoute) => ServedRoute

/**
 * @param serve handles a request through the table, for requests inside another connection
 * @throws {DeclarationError} with all invalid interceptors and decorators
 */
export function fillTable(plan: ApplicationPlan, context: ServeContext, serve: Serve): FilledTable {
  const problems = new Problems()
  const { versions, times, docs, basePath } = plan.settings
  const findInstance: FindInstance = (token) => plan.container.get(token)
  const interceptorsOf = (info: RouteInfo | undefined): readonly PipelineEntry[] => {
    const planned = plan.frameworkInterceptors
    const { gate, body } = createInterceptors(planned, info, findInstance, problems)
    return [...gate, ...body]
  }
  const withInterceptors: Surround = (served) => surround(served, interceptorsOf(served.info))
  const table =
    versions.by === 'path'
      ? new RouteTable<ServedRoute>()
      : new VersionedTable<ServedRoute>(versionReader(versions))
  const servedRoutes = serveControllers(plan, context, findInstance, problems)
  addControllerRoutes(table, plan.routes, servedRoutes)
  // After the application's own routes, which take precedence for the same path.
  const frameworkRoutes = [
    ...createGraphqlRoutes(plan, context, findInstance),
    ...docsRoutes(docs, plan.document, { gate: context.gate, timeout: times.handler, basePath }),
    ...plan.folders,
    liveQueriesRoute(plan.settings, context, serve),
  ]
  for (const { method, pattern, served } of frameworkRoutes)
    table.add(method, pattern, withInterceptors(served))
  const findFile = addStaticFiles(table, plan.files, withInterceptors)
  const unmatched = interceptorsOf(undefined)
  problems.throwIfAny()
  return {
    table,
    findFile,
    servedRoutes,
    aroundUnmatched:
      unmatched.length === 0
        ? undefined
        : (refuse) => surround(unmatchedRoute(refuse, times.handler), unmatched),
  }
}

function serveControllers(
  { routes, container }: ApplicationPlan,
  context: ServeContext,
  findInstance: FindInstance,
  problems: Problems,
): ReadonlyMap<RouteInfo, ServedRoute> {
  const servedRoutes = new Map<RouteInfo, ServedRoute>()
  for (const planned of routes) {
    const { info, route } = planned
    const interceptors = createInterceptors(planned.interceptors, info, findInstance, problems)
    const controller = container.get(route.controller)
    servedRoutes.set(info, serveRoute(planned, controller, context, interceptors))
  }
  return servedRoutes
}

/** Internal routes can be called, but not requested. */
function addControllerRoutes(
  table: ServedTable,
  routes: readonly PlannedRoute[],
  servedRoutes: ReadonlyMap<RouteInfo, ServedRoute>,
): void {
  for (const { info, route } of routes) {
    const served = servedRoutes.get(info)
    if (served === undefined || route.options.internal === true) continue
    const { method, pattern, version } = route
    const last = pattern.segments.at(-1)
    const isRest = method === 'GET' && last?.kind === 'parameter' && last.type === restType
    const routed = isRest ? served.with({ yieldsToFiles: true }) : served
    if (table instanceof RouteTable) table.add(method, pattern, routed)
    else table.add(method, pattern, routed, version)
  }
}

function createGraphqlRoutes(
  { settings, graphql, graphqlInterceptors }: ApplicationPlan,
  context: ServeContext,
  findInstance: FindInstance,
): readonly FrameworkRoute[] {
  return graphqlRoutes(graphql, context, {
    limits: settings.limits,
    basePath: settings.basePath,
    around: (instance) =>
      aroundOperations(instance, graphqlInterceptors, findInstance, context.gate),
  })
}

/** @returns undefined without static files */
function addStaticFiles(
  table: ServedTable,
  files: readonly FolderRoute[],
  withInterceptors: Surround,
): FindFile | undefined {
  const folders = new RouteTable<{
    readonly served: ServedRoute
    readonly hasFile: FolderRoute['hasFile']
  }>()
  for (const { pattern, served: folder, hasFile } of files) {
    const served = withInterceptors(folder)
    table.add('GET', pattern, served)
    folders.add('GET', pattern, { served, hasFile })
  }
  if (files.length === 0) return undefined
  return (path, values) => {
    const found = folders.match('GET', path, values)
    return found?.hasFile(String(values[0])) === true ? found.served : undefined
  }
}

/** The route that interceptors get for requests without a route. */
function unmatchedRoute(refuse: Invoker, timeout: number): ServedRoute {
  return new ServedRoute({
    pathNames: [],
    info: undefined,
    before: [],
    invoke: refuse,
    after: [],
    rule: { status: 200, notFoundWhenEmpty: false },
    timeout,
  })
}
