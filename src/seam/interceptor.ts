/**
 * Interceptors: code that runs around handlers. An interceptor is a provider; one instance serves
 * all requests. `@Use`, a module or `bootstrap` names it; `serving/` calls it.
 */
import type { OperationObject } from 'openapi3-ts/oas31'
import type { RouteResponse } from '../http/route-response.js'
import type { HttpRequest } from '../http/request.js'
import type { RouteInfo } from '../routing/route-info.js'

/** The places at which interceptors run, from outside to inside. */
export const places = ['gate', 'body', 'handler'] as const

/**
 * Where an interceptor stands. Before the `'gate'` nothing is known but the route; before the `'body'` the caller is
 * known and no byte of the body is read; before the `'handler'` the input is checked.
 */
export type InterceptorPosition = (typeof places)[number]

/**
 * Goes on to what stands further inside, once: who calls it again gets the same.
 *
 * Before gate and body it gives an `Answer`, whatever made it, and never rejects. Before the handler it gives the value
 * that the handler returned, not yet shaped, and throws what was thrown inside.
 */
export interface Next {
  <Result = RouteResponse>(): Promise<Result>
}

/** Stands around the handlers of the routes that it is written at. */
export interface Interceptor {
  /**
   * Called once for each route, at the start; if it returns false, the route's requests cost nothing. Default: every
   * route.
   */
  applies?(route: RouteInfo): boolean
  /**
   * @returns what is answered: what `next()` gave, or anything that a handler may return
   */
  intercept(request: HttpRequest, next: Next): unknown
}

/**
 * Acts before the handlers of its routes and does not see the answer: a check, a count, a header. Because it does not
 * wait for an answer, it costs much less than `intercept`.
 */
export interface EntryInterceptor {
  /** As of `Interceptor`. */
  applies?(route: RouteInfo): boolean
  /** Throws to refuse the request. `request.addHeader` adds a header to every answer. */
  enter(request: HttpRequest): void | Promise<void>
}

/** A class of interceptors, with where they stand; `'handler'` where it says nothing. */
export interface InterceptorClass {
  readonly before?: InterceptorPosition
  /**
   * Also runs around requests without a route and around the framework's own routes, wherever it is listed. Default
   * false.
   */
  readonly everywhere?: boolean
  /** Changes the OpenAPI operation of each route that it surrounds. */
  readonly document?: (operation: OperationObject, route: RouteInfo) => OperationObject
}

/** One call on the walk. */
export type Intercept = (request: HttpRequest, next: Next) => unknown

/** One call on the way in. */
export type OnEnter = (request: HttpRequest) => void | Promise<void>

/** True for `'gate'`, `'body'` and `'handler'`. */
export function isPlace(value: unknown): value is InterceptorPosition {
  return places.includes(value as InterceptorPosition)
}
