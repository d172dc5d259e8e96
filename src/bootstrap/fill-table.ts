/** Fills the route table of a planned application: first its own routes, then the framework's. */
import { joinPaths, parsePattern, restType } from '../routing/pattern.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'
import { ServedRoute, surround } from '../serving/served-route.js'
import { openLiveQueries, liveQueriesPath, type Serve } from '../serving/live-connection.js'
import { promiseOf } from '../core/maybe-promise.js'
import { readWithin } from '../http/bodies/read-body.js'
import { type ServeContext, serveRoute } from '../serving/serve-route.js'
import type { Settings } from './options.js'
import { Problems } from '../errors/problems.js'
import type { RouteInfo } from '../routing/route.js'
import { RouteTable, VersionedTable, type RouteLookup } from '../routing/route-table.js'
import { createInterceptors, type FindInstance } from '../serving/interceptors.js'
import type { Invoker } from '../serving/invoker.js'
import { docsRoutes } from './docs-routes.js'
import { graphqlRoutes, type GraphqlServing, aroundOperations } from './graphql-routes.js'
import type { FindFile } from '../serving/dispatcher.js'
import type { ApplicationPlan } from './plan-application.js'
import type { FolderRoute } from './static-files.js'
import { versionReader } from './versions.js'

/** Maximum bytes of all queries of a request. */
const maxBodyBytes = 256 * 1024

/**
 * Open to all callers, because each query is authorized by its own route. A token in the request is checked and renewed
 * here.
 */
function liveQueriesRoute(
  { basePath, limits }: Settings,
  { gate, times }: ServeContext,
  serve: Serve,
): FrameworkRoute {
  const pattern = parsePattern(joinPaths(basePath, liveQueriesPath), new Problems())
  if (pattern === undefined) throw new Error(`${basePath}${liveQueriesPath} is not a path.`)
  const readBody = readWithin({ limits: { ...limits, body: maxBodyBytes }, declared: false }, times)
  return frameworkRoute({
    pattern,
    name: 'live',
    method: 'POST',
    before: [(request) => promiseOf(gate.recognise(request)), readBody],
    invoke: (request) => openLiveQueries(request, serve),
    after: [(request) => promiseOf(gate.rotate(request))],
    timeout: times.handler,
  })
}

export interface FilledTable {
  /** Finds a file of a static folder. It has priority over a route with `<rest:path>`. Undefined without such folders. */
  readonly findFile: FindFile | undefined
  readonly table: RouteLookup<ServedRoute>
  /** The application's own routes, internal ones included. */
  readonly servedRoutes: ReadonlyMap<RouteInfo, ServedRoute>
  /** Runs interceptors of the application around requests without a route. Undefined if there are none. */
  readonly aroundUnmatched: ((refuse: Invoker) => ServedRoute) | undefined
}

/**
 * @param serve handles a request through the table, for requests inside another connection
 * @throws {DeclarationError} with all invalid interceptors and decorators
 */
export function fillTable(plan: ApplicationPlan, context: ServeContext, serve: Serve): FilledTable {
  const problems = new Problems()
  const find: FindInstance = (token) => plan.container.get(token)
  const { versions } = plan.settings
  const table =
    versions.by === 'path'
      ? new RouteTable<ServedRoute>()
      : new VersionedTable<ServedRoute>(versionReader(versions))
  const servedRoutes = new Map<RouteInfo, ServedRoute>()
  for (const planned of plan.routes) {
    const { route } = planned
    const controller = plan.container.get(route.controller)
    const interceptors = createInterceptors(planned.interceptors, planned.info, find, problems)
    const served = serveRoute(planned, controller, context, interceptors)
    servedRoutes.set(planned.info, served)
    const last = route.pattern.segments.at(-1)
    const isRest = route.method === 'GET' && last?.kind === 'parameter' && last.type === restType
    const routed = isRest ? served.with({ yieldsToFiles: true }) : served
    if (route.options.internal === true) continue
    if (table instanceof RouteTable) table.add(route.method, route.pattern, routed)
    else table.add(route.method, route.pattern, routed, route.version)
  }
  const files = addFrameworkRoutes(table, plan, context, find, (served) => {
    const { gate, body } = createInterceptors(
      plan.frameworkInterceptors,
      served.info,
      find,
      problems,
    )
    return surround(served, [...gate, ...body])
  })
  const { pattern, served } = liveQueriesRoute(plan.settings, context, serve)
  const { gate, body } = createInterceptors(plan.frameworkInterceptors, served.info, find, problems)
  table.add('POST', pattern, surround(served, [...gate, ...body]))
  const interceptors = createInterceptors(plan.frameworkInterceptors, undefined, find, problems)
  const outside = [...interceptors.gate, ...interceptors.body]
  problems.throwIfAny()
  const aroundUnmatched = (refuse: Invoker): ServedRoute =>
    surround(unmatchedRoute(refuse, plan.settings.times.handler), outside)
  return {
    table,
    findFile: files,
    servedRoutes,
    aroundUnmatched: outside.length === 0 ? undefined : aroundUnmatched,
  }
}

/** Added after the application's own routes, which take precedence for the same path. */
function addFrameworkRoutes(
  table: RouteTable<ServedRoute> | VersionedTable<ServedRoute>,
  plan: ApplicationPlan,
  context: ServeContext,
  find: FindInstance,
  around: (served: ServedRoute) => ServedRoute,
): FindFile | undefined {
  const { settings, document, graphql, graphqlInterceptors, folders, files } = plan
  const { basePath, docs, limits, times } = settings
  const documentation = docsRoutes(docs, document, {
    gate: context.gate,
    timeout: times.handler,
    basePath,
  })
  const serving: GraphqlServing = {
    limits,
    basePath,
    around: (instance) => aroundOperations(instance, graphqlInterceptors, find, context.gate),
  }
  for (const { method, pattern, served } of graphqlRoutes(graphql, context, serving)) {
    table.add(method, pattern, around(served))
  }
  for (const { pattern, served } of [...documentation, ...folders]) {
    table.add('GET', pattern, around(served))
  }
  const byPath = new RouteTable<{
    readonly served: ServedRoute
    readonly hasFile: FolderRoute['hasFile']
  }>()
  for (const { pattern, served, hasFile } of files) {
    const intercepted = around(served)
    table.add('GET', pattern, intercepted)
    byPath.add('GET', pattern, { served: intercepted, hasFile })
  }
  if (files.length === 0) return undefined
  return (path, values) => {
    const found = byPath.match('GET', path, values)
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
