/** Routes of the framework, which no controller declares: documentation, client script, files and GraphQL. */
import type { Pattern } from '../routing/pattern.js'
import type { RouteInfo } from '../routing/route.js'
import type { RouteMethod } from '../routing/route-table.js'
import type { Invoker } from './invoker.js'
import { ServedRoute, type Step } from './served-route.js'

export interface FrameworkRoute {
  readonly method: RouteMethod
  readonly pattern: Pattern
  readonly served: ServedRoute
}

export interface FrameworkRouteOptions {
  readonly pattern: Pattern
  /** The name for interceptors: `documentation`. */
  readonly name: string
  /** Default `GET`. */
  readonly method?: RouteMethod
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
  const served = new ServedRoute({
    pathNames: pattern.names,
    info: routeInfo(method, pattern, name),
    before,
    invoke,
    after,
    rule,
    timeout,
  })
  return { method, pattern, served }
}

function routeInfo(method: RouteMethod, pattern: Pattern, name: string): RouteInfo {
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
