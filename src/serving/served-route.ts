/** A route that is ready to serve: everything that its requests need, decided at the start. */
import type { AccessRule } from '../auth/access.js'
import type { Limits } from '../http/limits.js'
import type { DocumentOperation } from '../openapi/documented-route.js'
import type { Route } from '../routing/route.js'
import type { RouteInfo } from '../routing/route-info.js'
import type { ArgumentResolvers } from '../extensions/argument-resolvers.js'
import type { DeclaredClasses } from './declared-classes.js'
import type { PlannedInterceptor } from './interceptors.js'
import type { RouteChecks } from './route-checks.js'
import type { ResultRule } from '../http/result.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Intercept } from '../extensions/interceptor.js'
import type { Invoker } from './invoker.js'

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
  readonly ownArguments: ArgumentResolvers
}

/** A step of a request. Returns a promise only if it has to wait. To refuse the request, it throws or rejects. */
export type Step = (request: ServerRequest) => Promise<void> | undefined

/** One entry of the list before the handler: a step, or an interceptor around all following entries. */
export type Line = { readonly step: Step } | { readonly intercept: Intercept }

export interface ServedRoute {
  readonly pathNames: readonly string[]
  /** The description of the route for interceptors and handlers; `undefined` if no route was found. */
  readonly info: RouteInfo | undefined
  /** Headers of all responses, including errors: names and values in turn; `undefined` if there are none. */
  readonly headers?: readonly string[] | undefined
  /** In order, before the handler. Contains only the steps that the route needs. */
  readonly before: readonly Step[]
  /** The same steps with their interceptors; `undefined` if there are none. */
  readonly surrounded: readonly Line[] | undefined
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

/** @returns the steps alone or, if there are interceptors, also with them */
export function toSteps(lines: readonly Line[]): Pick<ServedRoute, 'before' | 'surrounded'> {
  const before = lines.flatMap((line) => ('step' in line ? [line.step] : []))
  return { before, surrounded: before.length === lines.length ? undefined : lines }
}

/** Adds interceptors around the whole route. */
export function surround(route: ServedRoute, outside: readonly Line[]): ServedRoute {
  if (outside.length === 0) return route
  const inside = route.surrounded ?? route.before.map((step) => ({ step }))
  return Object.freeze({ ...route, ...toSteps([...outside, ...inside]) })
}
