/**
 * The running application, as `bootstrap` returns it. It closes its parts in order, each within a time limit, and when the
 * process is asked to end.
 */

import { inspect } from 'node:util'
import { silentLog, type Log } from '../core/log.js'
import { routeOfPromise } from '../serving/current-request.js'
import { rolesOf } from '../auth/access.js'
import type { Ending } from '../http/ending.js'
import { handleWebRequest } from '../http/web/serve-web-request.js'
import type { LiveQueries } from '../live/live-queries.js'
import { isOperational } from '../openapi/documented-route.js'
import { reachable } from '../routing/route.js'
import type { ApplicationState } from '../serving/application-state.js'
import type { Dispatcher } from '../serving/dispatcher.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { Container } from './container.js'
import type { PortListener } from './listen.js'
import type { ApplicationPlan } from './plan-application.js'
import type { Storage } from './storage.js'
import type { GraphQL } from '../graphql/graphql.js'
import type { Class } from '../metadata/class.js'
import type { OpenApiDocument } from '../openapi/document.js'
import { injectRequest, type InjectRequest, type InjectResponse } from '../serving/inject.js'

/** Milliseconds that providers and the database have to stop, in a process that failed. */
const closingTime = 5_000

interface Running {
  readonly state: ApplicationState
  readonly dispatcher: Dispatcher
  readonly ending: Ending
  readonly listener: PortListener | undefined
  readonly live: LiveQueries
  /** True if the port stays open for the next process, which accepts new connections meanwhile. */
  readonly handsPortOver: boolean
}

export function createApplication(
  { container, routes, document, graphql, log, settings }: ApplicationPlan,
  storage: Storage,
  { state, dispatcher, ending, listener, live, handsPortOver }: Running,
): Application {
  let removeSignalHandlers: () => void = () => undefined
  const report = (hook: string): ((error: unknown) => void) => {
    const logError = logFailure(log, hook)
    return (error) => {
      state.failedToStop = true
      logError(error)
    }
  }
  const application = new Application({
    dispatcher,
    routes: Object.freeze(reachable(routes).map(toSummary)),
    document,
    graphql: graphql.main,
    get: (token) => container.get(token),
    url: listener?.url,
    close: async () => {
      state.closing = true
      dispatcher.drain()
      // With a port handover the next process waits, and no load balancer has to notice.
      if (container.hasClosingHook)
        await notifyClosing(
          container,
          handsPortOver ? 0 : settings.times.drain,
          report('onClosing'),
        )
      // Streams would never end by themselves, and the port waits for them.
      for (const { streams } of graphql.instances) streams.close()
      live.close()
      ending.begin(listener === undefined || handsPortOver ? 0 : settings.times.linger)
      await listener?.close()
      await container.stop(report('onStop'))
      await storage.close()
      removeSignalHandlers()
    },
  })
  if (listener !== undefined) {
    const timeout = settings.times.drain + closingTime
    removeSignalHandlers = closeWithProcess(application, { state, timeout })
  }
  return application
}

/** `onClosing` may delay the closing of the port, so that load balancers can notice it. */
async function notifyClosing(
  container: Container,
  timeout: number,
  report: (error: unknown) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeout)
  })
  await Promise.race([container.announceClosing(report), end])
  clearTimeout(timer)
}

/** Logs the error of a provider that stops; the other providers still stop. */
export function logFailure(log: Log, hook = 'onStop'): (error: unknown) => void {
  return (error) => {
    log.error({ err: error }, `${hook} failed`)
  }
}

function toSummary(planned: PlannedRoute): RouteSummary {
  const { route, access } = planned
  return Object.freeze({
    method: route.method,
    path: route.pattern.text,
    name: route.name,
    secured: !access.open,
    roles: rolesOf(access),
    operational: isOperational(planned),
  })
}

/** A route, as applications may list it. */
export interface RouteSummary {
  readonly method: string
  /** The pattern, e.g. `/items/<id:int>`. */
  readonly path: string
  /** `ItemController.show`. */
  readonly name: string
  /** True if a token is required. */
  readonly secured: boolean
  /** The roles that are admitted; empty if every token is. */
  readonly roles: readonly string[]
  /** True for routes of probes and metrics: `@Operational`. */
  readonly operational: boolean
}

interface ApplicationParts {
  readonly dispatcher: Dispatcher
  readonly routes: readonly RouteSummary[]
  /** Returns the OpenAPI document; writes it at the first call. */
  readonly document: () => OpenApiDocument
  /** The instance of the records, otherwise the first of the modules. */
  readonly graphql: GraphQL | undefined
  /** Returns a provider's instance. */
  readonly get: <T>(token: Class<T> | string | symbol) => T
  /** `undefined` for an application without a port. */
  readonly url: string | undefined
  /** Stops everything, in order; called once. */
  readonly close: () => Promise<void>
}

/**
 * A running application, as `bootstrap` returns it: its address and routes, `inject`, `handle`, `close`, and `get` for
 * providers.
 */
export class Application {
  /** All routes, in the order of declaration. */
  readonly routes: readonly RouteSummary[]
  readonly #parts: ApplicationParts
  #closed: Promise<void> | undefined

  constructor(parts: ApplicationParts) {
    this.#parts = parts
    this.routes = parts.routes
  }

  /**
   * The address on which it listens, e.g. `http://localhost:3000`.
   *
   * @throws {Error} with `{ listen: false }`
   */
  get url(): string {
    const { url } = this.#parts
    if (url === undefined) {
      throw new Error('app.url: this application does not listen. Use app.inject or app.handle.')
    }
    return url
  }

  /** The OpenAPI 3.1 document; written at the first access, then always the same object. */
  get openapi(): OpenApiDocument {
    return this.#parts.document()
  }

  /**
   * The GraphQL instance of the records, otherwise the first of the modules: `app.graphql.sdl`,
   * `app.graphql.execute(…)`.
   *
   * @throws {Error} in an application without GraphQL
   */
  get graphql(): GraphQL {
    const { graphql } = this.#parts
    if (graphql === undefined) {
      throw new Error(
        'app.graphql: this application has no GraphQL. Add records or graphql instances to its module.',
      )
    }
    return graphql
  }

  /**
   * The instance of a provider.
   *
   * @throws {Error} if no module provides it
   */
  get<T>(token: Class<T> | string | symbol): T {
    return this.#parts.get(token)
  }

  /** Sends a request through the whole application, without a socket. */
  inject(request: InjectRequest | string): Promise<InjectResponse> {
    const options = typeof request === 'string' ? { url: request } : request
    return injectRequest(this.#parts.dispatcher, options)
  }

  /**
   * Handles a web-standard request: for tests, serverless and other runtimes. An arrow function, so that it can be passed
   * to other code.
   */
  readonly handle = async (request: Request): Promise<Response> =>
    handleWebRequest((incoming, outgoing) => {
      this.#parts.dispatcher.serve(incoming, outgoing)
    }, request)

  /**
   * Stops accepting requests, waits for running requests (10 s at most), then stops the providers. Calling it again is
   * safe.
   */
  close(): Promise<void> {
    this.#closed ??= this.#parts.close()
    return this.#closed
  }

  /** `await using app = await bootstrap(AppModule)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

// Closes all open applications when the process is asked to end, or after an uncaught error.

const signals = ['SIGTERM', 'SIGINT'] as const

interface Closable {
  close(): Promise<void>
}

interface ClosableOptions {
  readonly state: ApplicationState
  /** Milliseconds after which a failed process ends, even if applications are still closing. */
  readonly timeout: number
}

const openApplications = new Map<Closable, ClosableOptions>()
let isClosing = false
let hasFailed = false

/**
 * On SIGTERM or SIGINT all open applications are closed, then the process ends, with code 1 if a provider failed to stop.
 * A second signal ends it immediately. An uncaught error is logged (without a log: written to standard error), and ends the process in the same way with code 1,
 * unless the program itself listens for uncaught errors.
 *
 * @returns a function that removes the application
 */
export function closeWithProcess(application: Closable, options: ClosableOptions): () => void {
  if (openApplications.size === 0) {
    for (const signal of signals) process.on(signal, closeOnSignal)
    // Node also reports unhandled rejections here, unless the program listens for those.
    process.on('uncaughtException', closeOnFailure)
  }
  openApplications.set(application, options)
  return () => {
    openApplications.delete(application)
    if (openApplications.size > 0) return
    for (const signal of signals) process.off(signal, closeOnSignal)
    process.off('uncaughtException', closeOnFailure)
  }
}

function closeOnSignal(signal: NodeJS.Signals): void {
  if (isClosing) process.exit(signal === 'SIGINT' ? 130 : 143)
  isClosing = true
  closeAll(0)
}

function closeOnFailure(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
  if (process.listenerCount('uncaughtException') > 1) return
  const options = [...openApplications.values()]
  const route = routeOfPromise()
  const where = route === undefined ? '' : ` in ${route}`
  const message =
    origin === 'unhandledRejection'
      ? `a promise rejection was not handled${where}, so the process ends`
      : `an error was not caught${where}, so the process ends`
  const { state } = options[0] ?? {}
  // Without a log, Node's own report would be missing too, and the process would end without a word.
  if (state === undefined || state.log === silentLog)
    process.stderr.write(`${message}\n${inspect(state?.redactError(error))}\n`)
  else state.log.error({ err: error, origin, route }, message)
  if (hasFailed) return
  hasFailed = true
  isClosing = true
  const longest = Math.max(0, ...options.map(({ timeout }) => timeout))
  setTimeout(() => process.exit(1), longest).unref()
  closeAll(1)
}

function closeAll(code: 0 | 1): void {
  const closing = [...openApplications].map(async ([application, { state }]) => {
    await application.close()
    return !state.failedToStop
  })
  Promise.allSettled(closing).then(
    (results) => {
      const areClosed = results.every((result) => result.status === 'fulfilled' && result.value)
      process.exit(areClosed ? code : 1)
    },
    () => process.exit(1),
  )
}
