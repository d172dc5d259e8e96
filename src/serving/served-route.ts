/** A route made ready to serve: everything the request path needs to know about it, decided at bootstrap. */
import type { ResultRule } from '../http/result.js'
import type { ServerRequest } from '../http/server-request.js'
import type { RouteInfo } from '../routing/route-info.js'
import type { Intercept } from '../seam/interceptor.js'
import type { Invoker } from './invoker.js'

/** One thing done to a request. Answers a promise only when it has to wait; throws or rejects to refuse. */
export type Step = (request: ServerRequest) => Promise<void> | undefined

/** One entry of the list before the handler: a step, or an interceptor around all that follows. */
export type Line = { readonly step: Step } | { readonly intercept: Intercept }

export interface ServedRoute {
  readonly pathNames: readonly string[]
  /** What interceptors and handlers see of it; `undefined` where no route was found. */
  readonly info: RouteInfo | undefined
  /** On every answer of it, errors too: names and values in turn; `undefined` where there are none. */
  readonly headers?: readonly string[] | undefined
  /** In order, before the handler. Those that the route does not need are not among them. */
  readonly before: readonly Step[]
  /** The same steps with their interceptors; `undefined` if there are none. */
  readonly surrounded: readonly Line[] | undefined
  /** The handler, with those who stand before it. */
  readonly invoke: Invoker
  /** Makes the declared output of what the handler returned; `undefined` where nothing is declared. */
  readonly shape: ((result: unknown) => unknown) | undefined
  /** In order, behind the handler, for errors too. */
  readonly after: readonly Step[]
  /** How values are sent. */
  readonly rule: ResultRule
  /** Milliseconds that a handler's promise may take. */
  readonly timeout: number
}

/** @returns the steps without those who stand around them, or with them, where there are any */
export function toWalk(lines: readonly Line[]): Pick<ServedRoute, 'before' | 'surrounded'> {
  const before = lines.flatMap((line) => ('step' in line ? [line.step] : []))
  return { before, surrounded: before.length === lines.length ? undefined : lines }
}

/** Puts somebody around a route from outside. */
export function surround(route: ServedRoute, outside: readonly Line[]): ServedRoute {
  if (outside.length === 0) return route
  const inside = route.surrounded ?? route.before.map((step) => ({ step }))
  return Object.freeze({ ...route, ...toWalk([...outside, ...inside]) })
}
