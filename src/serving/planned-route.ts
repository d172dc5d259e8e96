/** A route as the start reads it from its notes, before anything is made of it. */
import type { AccessRule } from '../auth/access.js'
import type { Limits } from '../http/limits.js'
import type { DocumentOperation } from '../openapi/documented-route.js'
import type { Route } from '../routing/route.js'
import type { RouteInfo } from '../routing/route-info.js'
import type { OwnArguments } from '../seam/own-arguments.js'
import type { DeclaredClasses } from './declared-classes.js'
import type { PlannedStand } from './interceptors.js'
import type { RouteChecks } from './route-checks.js'

export interface PlannedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** Its answer depends on the caller, even if no token is needed. */
  readonly isPersonal: boolean
  /** The application's, or the route's own. */
  readonly unknownKeys: 'refuse' | 'drop'
  /** The application's, with the route's own `limit`. */
  readonly limits: Limits
  readonly classes: DeclaredClasses
  readonly checks: RouteChecks
  /** What others may know of it. */
  readonly info: RouteInfo
  /** On every answer of it: names and values in turn; `undefined` where there are none. */
  readonly headers: readonly string[] | undefined
  /** Its interceptors and custom decorators, from outside to inside. */
  readonly stands: readonly PlannedStand[]
  /** What decorators of one's own make of its operation in the document, from inside to outside. */
  readonly documents: readonly DocumentOperation[]
  /** The application's own arguments. */
  readonly ownArguments: OwnArguments
}
