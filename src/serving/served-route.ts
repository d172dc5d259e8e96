/** A route that is ready to serve: everything that its requests need, decided at the start. */
import type { HeaderList } from '../http/header-list.js'
import type { Intercept } from '../extensions/interceptor.js'
import type { ResultRule } from '../http/result.js'
import type { RouteResponse } from '../http/route-response.js'
import type { ServerRequest } from '../http/server-request.js'
import type { RouteInfo } from '../routing/route.js'
import type { Interception } from './interception.js'
import type { Invoker } from './invoker.js'

/** A step of a request. Returns a promise only if it has to wait. To refuse the request, it throws or rejects. */
export type Step = (request: ServerRequest) => Promise<void> | undefined

/** One entry of the list before the handler: a step, or an interceptor around all following entries. */
export type PipelineEntry = { readonly step: Step } | { readonly intercept: Intercept }

/** An interceptor that gets the response of the steps inside it. */
export interface OuterInterceptor {
  readonly intercept: Intercept
  /** The rest of the route, which `next()` runs. */
  readonly inside: ServedRoute
}

export interface ServedRouteParts {
  readonly pathNames: readonly string[]
  /** The description of the route for interceptors and handlers; `undefined` if no route was found. */
  readonly info: RouteInfo | undefined
  /** Headers of all responses, including errors; `undefined` if there are none. */
  readonly headers?: HeaderList | undefined
  /** True if clients that accept events get a live query instead of one response. Default false. */
  readonly hasLiveQueries?: boolean
  /** In order, before the handler or the outer interceptor. Contains only the steps that the route needs. */
  readonly before: readonly Step[]
  /** Takes the place of the handler. Default: none. */
  readonly interceptor?: OuterInterceptor | undefined
  /** The handler, with the interceptors directly around it. */
  readonly invoke: Invoker
  /** Converts the handler's result to the declared output; `undefined` if nothing is declared. */
  readonly shape?: ((result: unknown) => unknown) | undefined
  /** In order, after the handler, for errors too. */
  readonly after: readonly Step[]
  /** How values are sent. */
  readonly rule: ResultRule
  /** The time limit for the handler's promise, in milliseconds. */
  readonly timeout: number
  /** A GET route with a `<rest:path>`: files of static folders go before it. Default false. */
  readonly yieldsToFiles?: boolean
}

/** A class, so that all routes have the same hidden class, which every request reads. */
export class ServedRoute implements ServedRouteParts {
  readonly pathNames: readonly string[]
  readonly info: RouteInfo | undefined
  readonly headers: HeaderList | undefined
  readonly hasLiveQueries: boolean
  readonly before: readonly Step[]
  readonly interceptor: OuterInterceptor | undefined
  readonly invoke: Invoker
  readonly shape: ((result: unknown) => unknown) | undefined
  readonly after: readonly Step[]
  readonly rule: ResultRule
  readonly timeout: number
  readonly yieldsToFiles: boolean
  /** The run of all its requests. */
  readonly toClient: RouteRun

  constructor(parts: ServedRouteParts) {
    this.pathNames = parts.pathNames
    this.info = parts.info
    this.headers = parts.headers
    this.hasLiveQueries = parts.hasLiveQueries === true
    this.before = parts.before
    this.interceptor = parts.interceptor
    this.invoke = parts.invoke
    this.shape = parts.shape
    this.after = parts.after
    this.rule = parts.rule
    this.timeout = parts.timeout
    this.yieldsToFiles = parts.yieldsToFiles === true
    this.toClient = new RouteRun(this)
    Object.freeze(this)
  }

  /** The route with other parts. */
  with(parts: Partial<ServedRouteParts>): ServedRoute {
    return new ServedRoute(Object.assign({}, this, parts))
  }
}

/**
 * A run through the steps of a route up to its response. The response goes to the client, or to the interceptor that has
 * called `next()`.
 */
export class RouteRun {
  readonly route: ServedRoute
  /** The interceptors around it, with their time limit; undefined if there are none. */
  readonly interception: Interception<RouteRun> | undefined
  /** Gives the response to the interceptor; undefined if the client gets it. */
  readonly resolve: ((response: RouteResponse) => void) | undefined
  /** False after the interceptor got a response, such as the error of a time-out. */
  isOpen = true

  constructor(
    route: ServedRoute,
    interception?: Interception<RouteRun>,
    resolve?: (response: RouteResponse) => void,
  ) {
    this.route = route
    this.interception = interception
    this.resolve = resolve
  }
}

/** Puts steps and interceptors around a route, the outermost first. */
export function surround(route: ServedRoute, entries: readonly PipelineEntry[]): ServedRoute {
  return entries.reduceRight(
    (inside, entry) =>
      'step' in entry
        ? inside.with({ before: [entry.step, ...inside.before] })
        : inside.with({
            before: [],
            interceptor: { intercept: entry.intercept, inside },
          }),
    route,
  )
}
