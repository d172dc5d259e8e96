/**
 * Starts an application, in this order: metadata → checked, frozen data (`plan-application.ts`) → database → providers
 * → a route table → a server.
 */
import { Auth } from '../auth/auth.js'
import { explainUncaughtErrors } from '../errors/uncaught-errors.js'
import type { Gate } from '../auth/gate.js'
import { removeLeftFolders } from '../http/bodies/upload-folder.js'
import { createCors, type Cors } from '../http/cors.js'
import { ErrorPages } from '../http/error-page.js'
import { HeaderList } from '../http/header-list.js'
import { Clock, Expiries } from '../core/time.js'
import type { LiveQueries } from '../live/live-queries.js'
import { portSuffix } from '../http/cookie-names.js'
import { localAddress, PublicUrl } from './public-url.js'
import { Ending } from '../http/ending.js'
import { RequestObservers } from '../http/request-observers.js'
import { Responder } from '../http/responder.js'
import type { RequestSettings } from '../http/request-settings.js'
import { StreamRegister } from '../http/stream-register.js'
import type { Class } from '../metadata/class.js'
import { Database } from '../records/database.js'
import { followCallers } from '../records/request-caller.js'
import { followUsers, hooksReadCaller } from '../records/statements/hooks.js'
import { reachable } from '../routing/route.js'
import { type Application, createApplication, logFailure } from './application.js'
import { isCaptured, developmentHostOf, type AttachedHost } from './cli-hooks.js'
import { currentRequest, followRequests } from '../serving/current-request.js'
import { ApplicationState } from '../serving/application-state.js'
import { Dispatcher } from '../serving/dispatcher.js'
import { checkTimers } from '../serving/inject.js'
import { Routes } from '../serving/routes.js'
import type { ServeContext } from '../serving/serve-route.js'
import { fillTable, type FilledTable } from './fill-table.js'
import { socketEndpoints } from './graphql-routes.js'
import { suggestedRoutes } from './suggested-routes.js'
import { SocketEndpoints } from '../serving/sockets/socket-endpoints.js'
import { learnSecrets } from './learn-secrets.js'
import { listen, otherWorkers, reportToPrimary } from './listen.js'
import type { BootstrapOptions } from './options.js'
import {
  createAuth,
  createServeContext,
  createRoutes,
  createState,
  type RunningRoutes,
} from './framework-providers.js'
import { planApplication, type ApplicationPlan } from './plan-application.js'
import { logPublicAccess, logOpenRecords } from './public-access.js'
import { toStartError, closeInTime, whileResponsive, openStorage, type Storage } from './storage.js'
import { logStartWarnings } from './start-checks.js'

// Files that import each other fail before `bootstrap` is called.
explainUncaughtErrors()

/**
 * Starts an application.
 *
 * @param module the class with `@Module` that contains everything
 * @returns once it listens; with `{ listen: false }` once it can handle requests
 * @throws {DeclarationError} if the application has problems: all of them in one report
 */
export async function bootstrap(
  module: Class,
  options: BootstrapOptions = {},
): Promise<Application> {
  if (isCaptured({ module, options })) return new Promise(() => undefined)
  checkTimers()
  const startTime = performance.now()
  const plan = await planApplication(module, options, {
    // `filigree dev` writes the lines as text.
    readsLog: (environment) => developmentHostOf(environment) !== undefined,
    watchLog: (log, environment) => developmentHostOf(environment)?.watchLog(log) ?? log,
  })
  learnSecrets(plan.redactor, plan)
  logStartWarnings(reachable(plan.routes), plan.settings, plan.log)
  logOpenRecords(plan, plan.log)
  if (plan.environment.production) logPublicAccess(plan, options, plan.log)
  const storage = await openStorage({ ...plan, ...storageOptions(plan, options) })
  try {
    const application = await whileResponsive(storage.database, () => start(plan, storage, options))
    const took = `${Math.round(performance.now() - startTime)} ms`
    const url = plan.settings.listen ? application.url : undefined
    plan.log.info(
      { url, routes: reachable(plan.routes).length, driver: storage.database?.driverName, took },
      url === undefined ? 'ready' : `listening at ${url}`,
    )
    developmentHostOf(plan.environment)?.started(
      { plan, state: application.get(ApplicationState) },
      url,
    )
    return application
  } catch (error) {
    await plan.container.stop(logFailure(plan.log))
    await closeInTime(() => storage.close())
    throw error
  }
}

function storageOptions(
  { environment, needsDatabase, routes, settings, clock }: ApplicationPlan,
  { database, sessions, searchLimit }: BootstrapOptions,
): Omit<Parameters<typeof openStorage>[0], 'records' | 'log'> {
  const longest = routes.map(({ route }) => route.options.timeout ?? 0)
  return {
    // A database statement is useless once its handler's time is over.
    statementTimeout: Math.max(settings.times.handler, ...longest),
    searchLimit,
    database: database ?? environment.databaseUrl,
    direct: environment.databaseDirectUrl,
    replicas: environment.databaseReplicas,
    requiresDatabase: needsDatabase,
    production: environment.production,
    sessions: sessions?.store,
    clock,
  }
}

async function start(
  plan: ApplicationPlan,
  storage: Storage,
  options: BootstrapOptions,
): Promise<Application> {
  const { settings, container } = plan
  const auth = createAuth(plan, storage)
  const context = createServeContext(plan, storage, auth, options)
  const observers = new RequestObservers()
  const state = createState(plan, storage, context, observers)
  const serverState: ServerState = { port: settings.port, runningRoutes: undefined }
  provideFrameworkClasses(plan, storage, serverState, { auth, state, gate: context.gate })
  bindGraphql(plan, storage, context.live)
  followRequestsIfNeeded(plan, storage)
  await container.createAll()
  if (plan.needsDatabase) plan.database.set(container.get(Database))
  await container.start().catch((error: unknown) => {
    throw toStartError(error)
  })
  const cors = createCors(options.cors, plan.corsHeaders)
  const ending = new Ending()
  const requests = requestSettings(plan, ending, cors)
  const host = developmentHostOf(plan.environment)
  const attached = host?.attach({ plan, state })
  const { dispatcher, servedRoutes } = createDispatcher(plan, context, {
    auth,
    state,
    observers,
    cors,
    ending,
    requests,
    pages: createErrorPages(plan, attached),
  })
  serverState.runningRoutes = { dispatcher, served: servedRoutes }
  const portHandover = host?.portHandover
  const listener = await listen({
    settings,
    dispatcher,
    errorHeaders: cors.fixed ?? new HeaderList(),
    log: plan.log,
    sockets: createSocketEndpoints(plan, context, { dispatcher, cors, ending, requests }),
    take: attached?.take,
    portHandover,
  })
  // Not awaited: it concerns processes that were killed.
  void removeLeftFolders().catch((error: unknown) => {
    plan.log.warn({ err: error }, 'folders of uploads that a killed process left cannot be removed')
  })
  if (listener !== undefined) {
    serverState.port = Number(new URL(listener.url).port)
    if (!plan.environment.production) plan.cookieNames.suffix = portSuffix(serverState.port)
  }
  const running = {
    state,
    dispatcher,
    ending,
    listener,
    live: context.live,
    handsPortOver: portHandover !== undefined,
  }
  const application = createApplication(plan, storage, running)
  if (listener !== undefined) reportToPrimary(listener.url, () => application.close())
  return application
}

/** Values that providers may ask for before they are known. */
interface ServerState {
  /** The requested port, then the open one. */
  port: number
  /** Undefined until the application can handle requests. */
  runningRoutes: RunningRoutes | undefined
}

/** Provides the framework's classes. */
function provideFrameworkClasses(
  { container, clock, environment, settings, routes }: ApplicationPlan,
  { database }: Storage,
  serverState: ServerState,
  { auth, state, gate }: { auth: Auth; state: ApplicationState; gate: Gate },
): void {
  const address = (): string =>
    settings.publicUrl ?? localAddress(serverState.port, environment.production)
  container.setBuiltIn(Auth, auth)
  container.setBuiltIn(Clock, clock)
  container.setBuiltIn(PublicUrl, new PublicUrl(address, settings.basePath))
  if (database !== undefined) container.setBuiltIn(Database, database)
  container.setBuiltIn(ApplicationState, state)
  container.setBuiltIn(
    Routes,
    createRoutes(routes, gate, () => serverState.runningRoutes),
  )
}

function bindGraphql(
  { graphql, environment, settings, log, clock, container }: ApplicationPlan,
  { database }: Storage,
  live: LiveQueries,
): void {
  for (const instance of graphql.instances) {
    instance.bind({
      database,
      log,
      production: environment.production,
      events: settings.bounds.events,
      clock,
      live,
      get: (token: symbol): unknown => container.get(token),
    })
  }
}

/** Follows requests through promises if something needs it, because it costs every request a little. */
function followRequestsIfNeeded(
  { container, requestContext }: ApplicationPlan,
  { database }: Storage,
): void {
  const hasReplicas =
    database !== undefined && followCallers(database, currentRequest, otherWorkers())
  const hasHooks = database !== undefined && [...database.tables].some(hooksReadCaller)
  if (hasHooks) followUsers(currentRequest)
  if (database !== undefined) database.context.providers.get = (token) => container.get(token)
  if (requestContext || hasReplicas || hasHooks) followRequests()
}

function requestSettings(
  { settings, log, authOptions, cookieNames, clock }: ApplicationPlan,
  ending: Ending,
  cors: Cors,
): RequestSettings {
  const { publicUrl } = settings
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin
  const now = (): number => clock.now()
  return {
    ...settings,
    maxReadBytes: settings.limits.rows,
    log,
    tokenCookie: authOptions.cookie,
    cookieNames,
    ending,
    now,
    publicOrigin,
    cors,
  }
}

interface DispatcherParts {
  readonly auth: Auth
  readonly state: ApplicationState
  readonly observers: RequestObservers
  readonly cors: Cors
  readonly ending: Ending
  readonly requests: RequestSettings
  readonly pages: ErrorPages | undefined
}

/** @returns undefined if browsers get JSON too */
function createErrorPages(
  plan: ApplicationPlan,
  attached: AttachedHost | undefined,
): ErrorPages | undefined {
  const { errorPage } = plan.settings
  if (errorPage === false) return undefined
  return new ErrorPages({
    errorPage,
    routes: plan.environment.production ? [] : suggestedRoutes(plan),
    developmentPage: attached?.errorPage,
    developmentHint: attached?.errorHint,
  })
}

function createDispatcher(
  plan: ApplicationPlan,
  context: ServeContext,
  { auth, state, observers, cors, ending, requests, pages }: DispatcherParts,
): Pick<FilledTable, 'servedRoutes'> & { readonly dispatcher: Dispatcher } {
  const { settings, log, clock } = plan
  const filled = fillTable(plan, context, (incoming, outgoing) => {
    dispatcher.serve(incoming, outgoing)
  })
  const watch = auth.watch.bind(auth)
  const expiries = new Expiries(clock)
  const streams = new StreamRegister({ ...settings.bounds, ending, watch, expiries })
  const dispatcher: Dispatcher = new Dispatcher({
    ...filled,
    responder: new Responder({ cors, log, streams, errors: settings.errors, pages }),
    cors,
    application: state,
    observers,
    settings: requests,
    maxUrlLength: settings.limits.url,
    shortestTime: shortestTime(plan),
  })
  return { dispatcher, servedRoutes: filled.servedRoutes }
}

/** @returns undefined if no GraphQL endpoint accepts WebSockets */
function createSocketEndpoints(
  { graphql, settings, log }: ApplicationPlan,
  { gate }: ServeContext,
  {
    dispatcher,
    cors,
    ending,
    requests,
  }: Pick<DispatcherParts, 'cors' | 'ending' | 'requests'> & { readonly dispatcher: Dispatcher },
): SocketEndpoints | undefined {
  const endpoints = socketEndpoints(graphql.instances, settings.basePath)
  if (endpoints.length === 0) return undefined
  return new SocketEndpoints({
    endpoints,
    serve: (incoming, outgoing) => {
      dispatcher.serve(incoming, outgoing)
    },
    recognise: (request) => gate.recognise(request),
    isClosing: () => dispatcher.isDraining,
    maxOperations: settings.bounds.streamsByAddress,
    initTimeout: settings.times.headers,
    stall: settings.times.stall,
    unfinished: { bytes: settings.bounds.unfinished, time: settings.times.request },
    settings: requests,
    cors,
    ending,
    log,
  })
}

/** The shortest time that a request of the application may take, in milliseconds. */
function shortestTime({ settings, routes }: ApplicationPlan): number {
  const { handler, request, upload } = settings.times
  const timeouts = routes.map(({ route }) => route.options.timeout ?? handler)
  return timeouts.reduce(
    (shortest, time) => Math.min(shortest, time),
    Math.min(handler, request, upload),
  )
}
