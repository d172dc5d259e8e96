/** A route as planned at the start, from its metadata, before anything is compiled. */
import type { AccessRule } from '../auth/access.js'
import type { ArgumentResolvers } from '../extensions/argument-resolvers.js'
import type { HeaderList } from '../http/header-list.js'
import type { Limits } from '../http/limits.js'
import type { DocumentOperation } from '../openapi/documented-route.js'
import type { Route, RouteInfo } from '../routing/route.js'
import type { PlannedInterceptor } from './interceptors.js'
import type { DeclaredClasses, RouteChecks } from './route-checks.js'

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
  /** Headers of all responses; `undefined` if there are none. */
  readonly headers: HeaderList | undefined
  /** Its interceptors and custom decorators, from outside to inside. */
  readonly interceptors: readonly PlannedInterceptor[]
  /** Changes of its operation in the document by custom decorators, from inside to outside. */
  readonly documents: readonly DocumentOperation[]
  /** The custom arguments of the application. */
  readonly customArguments: ArgumentResolvers
}
