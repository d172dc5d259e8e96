/**
 * Runs the steps of a request. Every request runs through them in this order:
 *
 *   head → route → before (gate, body, session, checks) → handler → shape → after (session, token) → response
 *
 * Only a step or a handler that returns a promise is awaited. The responder sends errors that any of them throws. The
 * steps of a route are chosen in `serve-route.ts`.
 */
import { publishRequest, requestEvents, type RequestObservers } from '../http/request-observers.js'
import { invokeScheduled } from '../http/response-body.js'
import { ServerRequest, type RequestSettings } from '../http/server-request.js'
import { HttpError } from '../errors/http-error.js'
import type { Cors } from '../http/cors.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import { headError } from '../http/request-head.js'
import type { Responder } from '../http/responder.js'
import { noSniff, onAccept } from '../http/response-head.js'
import { isThenable } from '../core/maybe-promise.js'
import { methods, pathError, type RouteLookup } from '../routing/route-table.js'
import { runInRequest } from './current-request.js'
import { Deadlines, stopInTime, timeoutError, type Waiting } from './deadlines.js'
import { releaseUnsentStreams } from '../http/result.js'
import type { ServedRoute } from './served-route.js'
import type { Invoker } from './invoker.js'
import { runInterceptedPipeline, type PipelineContext } from './intercepted-pipeline.js'

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

export class Dispatcher {
  /** True while the application closes. Every response then closes its connection. */
  draining = false
  readonly #table: RouteLookup<ServedRoute>
  readonly #responder: Responder
  readonly #cors: Cors
  readonly #settings: RequestSettings
  readonly #application: object
  readonly #observers: RequestObservers
  readonly #maxUrlLength: number
  readonly #deadlines: Deadlines
  readonly #pipelineContext: PipelineContext
  readonly #unmatchedRoute: ServedRoute | undefined
  readonly #findFile: FindFile | undefined

  constructor(options: DispatcherOptions) {
    this.#table = options.table
    this.#responder = options.responder
    this.#cors = options.cors
    this.#settings = options.settings
    this.#application = options.application
    this.#observers = options.observers
    this.#maxUrlLength = options.maxUrlLength
    this.#deadlines = new Deadlines(options.shortestTime, (waiting) => {
      this.#expire(waiting)
    })
    this.#pipelineContext = {
      responder: options.responder,
      deadlines: this.#deadlines,
      send: (request, route, answer) => {
        this.#send(request, route, answer)
      },
      fail: (request, error) => {
        this.#fail(request, error)
      },
    }
    this.#findFile = options.findFile
    this.#unmatchedRoute = options.aroundUnmatched?.((request) => {
      throw this.#unmatched(request)
    })
  }

  /** Processes a request. Never throws. */
  serve(incoming: Incoming, outgoing: Outgoing): void {
    const request = new ServerRequest(incoming, outgoing, this.#settings)
    if (this.#observers.hasObservers) this.#observers.begin(request)
    if (requestEvents.hasSubscribers) publishRequest(request, this.#application, this.#take)
    else this.#take(request)
  }

  /**
   * Processes an internal request whose route and path parameters are known. Never throws.
   *
   * @param prepare called with the request before any processing
   */
  serveInternal(
    incoming: Incoming,
    outgoing: Outgoing,
    route: ServedRoute,
    values: readonly (string | number)[],
    prepare: (request: ServerRequest) => void,
  ): void {
    const request = new ServerRequest(incoming, outgoing, this.#settings)
    for (const value of values) request.pathValues.push(value)
    prepare(request)
    if (this.#observers.hasObservers) this.#observers.begin(request)
    if (requestEvents.hasSubscribers)
      publishRequest(request, this.#application, (same) => {
        this.#runRoute(same, route)
      })
    else this.#runRoute(request, route)
  }

  /** Responds with an error before any route is chosen. */
  refuse(incoming: Incoming, outgoing: Outgoing, error: HttpError): void {
    const request = new ServerRequest(incoming, outgoing, this.#settings)
    if (this.#observers.hasObservers) this.#observers.begin(request)
    const fail = (): void => {
      this.#fail(request, error)
    }
    if (requestEvents.hasSubscribers) publishRequest(request, this.#application, fail)
    else fail()
  }

  readonly #take = (request: ServerRequest): void => {
    const { incoming } = request
    try {
      const error = headError(incoming, this.#maxUrlLength)
      if (error !== undefined) {
        this.#fail(request, error)
        return
      }
      if (request.method === 'OPTIONS') {
        this.#answerOptions(request)
        return
      }
      const { method, sentPath, pathValues } = request
      const found = this.#table.match(method, sentPath, pathValues, incoming.headers)
      const route = found ?? this.#unmatchedRoute
      if (route === undefined) {
        this.#fail(request, this.#unmatched(request))
        return
      }
      if (route.yieldsToFiles === true && this.#findFile !== undefined) {
        this.#runRoute(request, this.#fileBefore(request, route, this.#findFile))
      } else this.#runRoute(request, route)
    } catch (error) {
      this.#fail(request, error)
    }
  }

  #fileBefore(request: ServerRequest, route: ServedRoute, findFile: FindFile): ServedRoute {
    const values: (string | number)[] = []
    const file = findFile(request.sentPath, values)
    if (file === undefined) return route
    request.pathValues.splice(0, Infinity, ...values)
    return file
  }

  /** Starts the pipeline of a route. */
  #runRoute(request: ServerRequest, route: ServedRoute): void {
    request.pathNames = route.pathNames
    if (route.headers !== undefined) request.responseHeaders = [...route.headers]
    if (route.hasLiveQueries === true) request.dependsOn |= onAccept
    request.route = route.info
    const runner = route.pipeline === undefined ? this.#run : this.#runIntercepted
    runInRequest(request, runner, route, 0)
  }

  /** Continues with the step `from`. */
  readonly #run = (request: ServerRequest, route: ServedRoute, from: number): void => {
    try {
      const steps = route.before
      for (let index = from; index < steps.length; index++) {
        const pending = steps[index]?.(request)
        if (pending !== undefined) {
          this.#waitForStep(pending, request, route, index + 1)
          return
        }
      }
      const result = invokeScheduled(route, request)
      if (isThenable(result)) this.#waitForHandler(result, request, route)
      else this.#finish(request, route, result)
    } catch (error) {
      this.#failRoute(request, route, error)
    }
  }

  readonly #runIntercepted = (request: ServerRequest, route: ServedRoute): void => {
    runInterceptedPipeline(request, route, this.#pipelineContext)
  }

  #waitForStep(
    pending: Promise<void>,
    request: ServerRequest,
    route: ServedRoute,
    next: number,
  ): void {
    const waiting = this.#deadlines.wait(request, route, request.bodyTime ?? route.timeout)
    pending.then(
      () => {
        this.#deadlines.done(waiting)
        request.bodyTime = undefined
        if (!request.isOver) runInRequest(request, this.#run, route, next)
      },
      (error: unknown) => {
        this.#deadlines.done(waiting)
        this.#failRoute(request, route, error)
      },
    )
  }

  #waitForHandler(result: PromiseLike<unknown>, request: ServerRequest, route: ServedRoute): void {
    const waiting = this.#deadlines.wait(request, route, route.timeout)
    result.then(
      (value) => {
        this.#deadlines.done(waiting)
        this.#finish(request, route, value)
      },
      (error: unknown) => {
        this.#deadlines.done(waiting)
        this.#failRoute(request, route, error)
      },
    )
  }

  #expire(waiting: Waiting): void {
    const { request, route } = waiting
    stopInTime(waiting, this.#deadlines, (error) => {
      this.#failRoute(request, route, error)
    })
  }

  #finish(request: ServerRequest, route: ServedRoute, result: unknown): void {
    if (request.answered || request.finishing) {
      this.#responder.discard(result)
      return
    }
    try {
      const shaped = route.shape === undefined ? result : route.shape(result)
      if (route.after.length === 0) this.#send(request, route, shaped)
      else
        this.#runAfter(request, route, () => {
          this.#send(request, route, shaped)
        })
    } catch (error) {
      this.#failRoute(request, route, error)
    }
  }

  #failRoute(request: ServerRequest, route: ServedRoute, cause: unknown): void {
    if (request.answered) return
    const error = request.isTimedOut ? timeoutError(request) : cause
    if (route.after.length === 0 || request.finishing) {
      this.#fail(request, error)
      return
    }
    this.#runAfter(request, route, () => {
      this.#fail(request, error)
    })
  }

  /** Runs the steps after the handler once, then `done`. If a step fails, its error becomes the response. */
  #runAfter(request: ServerRequest, route: ServedRoute, done: () => void, from = 0): void {
    request.finishing = true
    try {
      for (let index = from; index < route.after.length; index++) {
        const pending = route.after[index]?.(request)
        if (pending === undefined) continue
        const waiting = this.#deadlines.wait(request, route, route.timeout)
        pending.then(
          () => {
            this.#deadlines.done(waiting)
            this.#runAfter(request, route, done, index + 1)
          },
          (error: unknown) => {
            this.#deadlines.done(waiting)
            this.#fail(request, error)
          },
        )
        return
      }
      done()
    } catch (error) {
      this.#fail(request, error)
    }
  }

  #send(request: ServerRequest, route: ServedRoute, result: unknown): void {
    if (request.answered) {
      this.#responder.discard(result)
      return
    }
    request.answered = true
    if (this.draining) request.addHeader('Connection', 'close')
    if (request.returnedStreams !== undefined) releaseUnsentStreams(request, result)
    this.#responder.send(request, result, route.rule)
  }

  #fail(request: ServerRequest, error: unknown): void {
    if (request.answered) return
    request.answered = true
    if (this.draining) request.addHeader('Connection', 'close')
    if (request.returnedStreams !== undefined) releaseUnsentStreams(request, undefined)
    this.#responder.fail(request, error)
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
      this.#fail(request, error ?? new HttpError(404))
      return
    }
    request.answered = true
    const cors = isPreflight ? this.#cors.preflightHeaders(request) : this.#cors.headersFor(request)
    const head = [...noSniff, ...cors]
    if (allowed.length > 0) head.push('Allow', toAllow(allowed))
    if (this.draining) head.push('Connection', 'close')
    request.outgoing.writeHead(204, head)
    request.outgoing.end()
  }
}

function toAllow(allowed: readonly string[]): string {
  return [...allowed, 'OPTIONS'].join(', ')
}
