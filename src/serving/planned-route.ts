/** A route as the start reads it from its notes, before anything is made of it. */
import type { AccessRule } from '../auth/access.js'
import type { Limits } from '../http/limits.js'
import type { Route } from '../routing/route.js'
import type { DeclaredClasses } from './declared-classes.js'
import type { RouteChecks } from './route-checks.js'

export interface PlannedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** The application's, or the route's own. */
  readonly unknownKeys: 'refuse' | 'drop'
  /** The application's, with the route's own `limit`. */
  readonly limits: Limits
  readonly classes: DeclaredClasses
  readonly checks: RouteChecks
}
