/** A route that is ready to serve: everything that its requests need, decided at the start. */

import type { AccessRule } from '../auth/access.js'
import type { Limits } from '../http/limits.js'
import type { DocumentOperation } from '../openapi/documented-route.js'
import type { Route, RouteInfo } from '../routing/route.js'
import type { ArgumentResolvers } from '../extensions/argument-resolvers.js'
import type { DeclaredClasses, RouteChecks } from './route-checks.js'
import type { PlannedInterceptor } from './interceptors.js'
import type { ResultRule } from '../http/result.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Intercept } from '../extensions/interceptor.js'
import type { Invoker } from './invoker.js'
import type { Pattern } from '../routing/pattern.js'
import type { Method } from '../routing/route-table.js'

/** A route as planned at the start, from its metadata, before anything is compiled. */
export interface PlannedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** Whether a package declares it. */
  readonly ofPackage: boolean
  /** The record whose rule keeps the route closed although its controller is `@NoAuth`. */
  readonly closedBy: string | undefined
  /** Whether its response depends on the caller, even if no token is required. */
  readonly isPersonal: boolean
  /** The application's option, or the route's own. */
  readonly unknownKeys: 'refuse' | 'drop'
  /** The application's limits, with the route's own `limit`. */
  readonly limits: Limits
  readonly classes: DeclaredClasses
  readonly checks: RouteChecks
  /** The media types of its bodies; empty if it reads none. */
  readonly media: readonly string[]
  /** The public description of the route. */
  readonly info: RouteInfo
  /** Headers of all responses: names and values in turn; `undefined` if there are none. */
  readonly headers: readonly string[] | undefined
  /** Its interceptors and custom decorators, from outside to inside. */
  readonly interceptors: readonly PlannedInterceptor[]
  /** Changes of its operation in the document by custom decorators, from inside to outside. */
  readonly documents: readonly DocumentOperation[]
  /** The custom arguments of the application. */
  readonly customArguments: ArgumentResolvers
}

/** A step of a request. Returns a promise only if it has to wait. To refuse the request, it throws or rejects. */
export type Step = (request: ServerRequest) => Promise<void> | undefined

/** One entry of the list before the handler: a step, or an interceptor around all following entries. */
export type PipelineEntry = { readonly step: Step } | { readonly intercept: Intercept }

export interface ServedRoute {
  readonly pathNames: readonly string[]
  /** The description of the route for interceptors and handlers; `undefined` if no route was found. */
  readonly info: RouteInfo | undefined
  /** Headers of all responses, including errors: names and values in turn; `undefined` if there are none. */
  readonly headers?: readonly string[] | undefined
  /** True if clients that accept events get a live query instead of one response. */
  readonly hasLiveQueries?: boolean
  /** In order, before the handler. Contains only the steps that the route needs. */
  readonly before: readonly Step[]
  /** The same steps with their interceptors; `undefined` if there are none. */
  readonly pipeline: readonly PipelineEntry[] | undefined
  /** The handler, with the interceptors directly around it. */
  readonly invoke: Invoker
  /** Converts the handler's result to the declared output; `undefined` if nothing is declared. */
  readonly shape: ((result: unknown) => unknown) | undefined
  /** In order, after the handler, for errors too. */
  readonly after: readonly Step[]
  /** How values are sent. */
  readonly rule: ResultRule
  /** The time limit for the handler's promise, in milliseconds. */
  readonly timeout: number
  /** A GET route with a `<rest:path>`: files of static folders go before it. Default false. */
  readonly yieldsToFiles?: boolean
}

/** @returns the steps and, if there are interceptors, also the complete pipeline */
export function toSteps(
  entries: readonly PipelineEntry[],
): Pick<ServedRoute, 'before' | 'pipeline'> {
  const before = entries.flatMap((entry) => ('step' in entry ? [entry.step] : []))
  return { before, pipeline: before.length === entries.length ? undefined : entries }
}

/** Adds interceptors around a complete route. */
export function addOuterEntries(
  route: ServedRoute,
  outside: readonly PipelineEntry[],
): ServedRoute {
  if (outside.length === 0) return route
  const inside = route.pipeline ?? route.before.map((step) => ({ step }))
  return Object.freeze({ ...route, ...toSteps([...outside, ...inside]) })
}

/** A route of the framework, which no controller declares: documentation, client script, files or GraphQL. */
export interface FrameworkRoute {
  readonly pattern: Pattern
  readonly served: ServedRoute
}

export interface FrameworkRouteOptions {
  readonly pattern: Pattern
  /** The name for interceptors: `documentation`. */
  readonly name: string
  /** Default `GET`. */
  readonly method?: Method
  readonly invoke: Invoker
  /** The time limit of the response, in milliseconds. */
  readonly timeout: number
  /** Default: none. */
  readonly before?: readonly Step[]
  /** Default: none. */
  readonly after?: readonly Step[]
  /** Whether `null` becomes 404. Default false. */
  readonly notFoundWhenEmpty?: boolean
}

/** A route whose result is sent unchanged, with status 200. */
export function frameworkRoute({
  pattern,
  name,
  invoke,
  timeout,
  ...steps
}: FrameworkRouteOptions): FrameworkRoute {
  const { method = 'GET', before = [], after = [], notFoundWhenEmpty = false } = steps
  const rule = { status: 200, notFoundWhenEmpty }
  const served: ServedRoute = {
    pathNames: pattern.names,
    info: routeInfo(method, pattern, name),
    before,
    pipeline: undefined,
    invoke,
    shape: undefined,
    after,
    rule,
    timeout,
  }
  return { pattern, served }
}

function routeInfo(method: Method, pattern: Pattern, name: string): RouteInfo {
  return Object.freeze({
    method,
    path: pattern.text,
    name,
    controller: undefined,
    record: undefined,
    arguments: Object.freeze([]),
    body: undefined,
    secured: false,
    roles: Object.freeze([]),
    metadata: Object.freeze({ get: () => undefined }),
  })
}
