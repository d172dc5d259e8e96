/**
 * Takes a request: checks its head, finds its route, and starts its pipeline. Requests without a route and OPTIONS
 * get their response here.
 */
import { publishRequest, requestEvents, type RequestObservers } from '../http/request-observers.js'
import type { HttpRequest } from '../http/request.js'
import type { RequestSettings } from '../http/request-settings.js'
import { ServerRequest } from '../http/server-request.js'
import { HttpError } from '../errors/http-error.js'
import type { Cors } from '../http/cors.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import { headError } from '../http/request-head.js'
import type { Responder } from '../http/responder.js'
import { HeaderList } from '../http/header-list.js'
import { noSniff } from '../http/response-head.js'
import { methods, pathError, type RouteLookup } from '../routing/route-table.js'
import type { ServedRoute } from './served-route.js'
import type { Invoker } from './invoker.js'
import { Pipeline } from './pipeline.js'

/**
 * Finds the route for a file of a static folder.
 *
 * @param values receives the values of the path parameters
 * @returns undefined if no folder has such a file
 */
export type FindFile = (path: string, values: (string | number)[]) => ServedRoute | undefined

export interface DispatcherOptions {
  readonly table: RouteLookup<ServedRoute>
  readonly responder: Responder
  readonly cors: Cors
  readonly settings: RequestSettings
  /** The application, for subscribers of the request events. */
  readonly application: object
  /** Observers that measure requests. */
  readonly observers: RequestObservers
  /** Maximum length of a URL, in bytes. */
  readonly maxUrlLength: number
  /** The shortest time limit of all routes, in milliseconds. */
  readonly shortestTime: number
  /** Finds files that take precedence over a route with a `<rest:path>`. */
  readonly findFile?: FindFile | undefined
  /** Adds the application's interceptors around requests without a route; undefined if there are none. */
  readonly aroundUnmatched?: ((refuse: Invoker) => ServedRoute) | undefined
}

/** A request that the program makes within another one. */
export interface InternalCall {
  readonly incoming: Incoming
  readonly outgoing: Outgoing
  readonly route: ServedRoute
  readonly pathValues: readonly (string | number)[]
  readonly parent: HttpRequest
  /** Called with the request before any processing. */
  readonly prepare: (request: ServerRequest) => void
}

export class Dispatcher {
  readonly #table: RouteLookup<ServedRoute>
  readonly #pipeline: Pipeline
  readonly #cors: Cors
  readonly #settings: RequestSettings
  readonly #application: object
  readonly #observers: RequestObservers
  readonly #maxUrlLength: number
  readonly #unmatchedRoute: ServedRoute | undefined
  readonly #findFile: FindFile | undefined

  constructor(options: DispatcherOptions) {
    this.#table = options.table
    this.#pipeline = new Pipeline(options.responder, options.shortestTime)
    this.#cors = options.cors
    this.#settings = options.settings
    this.#application = options.application
    this.#observers = options.observers
    this.#maxUrlLength = options.maxUrlLength
    this.#findFile = options.findFile
    this.#unmatchedRoute = options.aroundUnmatched?.((request) => {
      throw this.#unmatched(request)
    })
  }

  /** Whether the application closes. */
  get isDraining(): boolean {
    return this.#pipeline.isDraining
  }

  /** The application closes: from now on, every response closes its connection. */
  drain(): void {
    this.#pipeline.isDraining = true
  }

  /** Processes a request. Never throws. */
  serve(incoming: Incoming, outgoing: Outgoing): void {
    const request = new ServerRequest(incoming, outgoing, this.#settings)
    if (this.#observers.hasObservers) this.#observers.begin(request)
    if (requestEvents.hasSubscribers) publishRequest(request, this.#application, this.#take)
    else this.#take(request)
  }

  /** Processes an internal request whose route is known. Never throws. */
  serveInternal({ incoming, outgoing, route, parent, ...call }: InternalCall): void {
    const request = new ServerRequest(incoming, outgoing, this.#settings, parent)
    for (const value of call.pathValues) request.pathValues.push(value)
    call.prepare(request)
    if (this.#observers.hasObservers) this.#observers.begin(request)
    if (requestEvents.hasSubscribers)
      publishRequest(request, this.#application, (same) => {
        this.#pipeline.start(same, route)
      })
    else this.#pipeline.start(request, route)
  }

  /** Responds with an error before any route is chosen. */
  refuse(incoming: Incoming, outgoing: Outgoing, error: HttpError): void {
    const request = new ServerRequest(incoming, outgoing, this.#settings)
    if (this.#observers.hasObservers) this.#observers.begin(request)
    const fail = (): void => {
      this.#pipeline.fail(request, error)
    }
    if (requestEvents.hasSubscribers) publishRequest(request, this.#application, fail)
    else fail()
  }

  readonly #take = (request: ServerRequest): void => {
    const { incoming } = request
    try {
      const error = headError(incoming, this.#maxUrlLength)
      if (error !== undefined) {
        this.#pipeline.fail(request, error)
        return
      }
      if (request.method === 'OPTIONS') {
        this.#answerOptions(request)
        return
      }
      const { method, sentPath, pathValues } = request
      const found = this.#table.match(method, sentPath, pathValues, incoming)
      const route = found ?? this.#unmatchedRoute
      if (route === undefined) {
        this.#pipeline.fail(request, this.#unmatched(request))
        return
      }
      if (route.yieldsToFiles && this.#findFile !== undefined) {
        this.#pipeline.start(request, this.#fileBefore(request, route, this.#findFile))
      } else this.#pipeline.start(request, route)
    } catch (error) {
      this.#pipeline.fail(request, error)
    }
  }

  #fileBefore(request: ServerRequest, route: ServedRoute, findFile: FindFile): ServedRoute {
    const values: (string | number)[] = []
    const file = findFile(request.sentPath, values)
    if (file === undefined) return route
    request.pathValues.splice(0, Infinity, ...values)
    return file
  }

  /** Returns 405 if the path has other methods, otherwise 404. */
  #unmatched(request: ServerRequest): HttpError {
    const allowed = this.#table.allowedMethods(request.sentPath, request.incoming.headers)
    if (allowed.length === 0)
      return new HttpError(404, undefined, { reason: 'no route has this path' })
    const Allow = toAllow(allowed)
    const reason = `this path only has routes for ${Allow}`
    return new HttpError(405, undefined, { headers: { Allow }, reason })
  }

  /** `OPTIONS *` concerns the whole server (RFC 9110 §9.3.7). */
  #allowedMethods(path: string): readonly string[] {
    return path === '*' ? methods : this.#table.allowedMethods(path)
  }

  /**
   * Responds to preflight requests on every path, and to plain OPTIONS on known paths. Neither reaches the gate or a
   * handler.
   */
  #answerOptions(request: ServerRequest): void {
    const { headers } = request.incoming
    const isPreflight =
      this.#cors.isOn &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined
    const error = pathError(request.sentPath)
    const allowed = error === undefined ? this.#allowedMethods(request.sentPath) : []
    if (allowed.length === 0 && !isPreflight) {
      this.#pipeline.fail(request, error ?? new HttpError(404))
      return
    }
    request.beginResponse()
    const cors = isPreflight ? this.#cors.preflightHeaders(request) : this.#cors.headersFor(request)
    const head = new HeaderList([...noSniff, ...cors.flat])
    if (allowed.length > 0) head.add('Allow', toAllow(allowed))
    if (this.isDraining) head.add('Connection', 'close')
    request.outgoing.writeHead(204, head.flat)
    request.outgoing.end()
  }
}

function toAllow(allowed: readonly string[]): string {
  return [...allowed, 'OPTIONS'].join(', ')
}
