/**
 * Starts an application, in this order: notes → checked, frozen data (`plan-application.ts`) → database → providers →
 * a route table → a server.
 */
import { Auth } from '../auth/auth.js'
import { explainImportCycles } from '../errors/import-cycle.js'
import type { Gate } from '../auth/gate.js'
import { removeLeftFolders } from '../http/bodies/upload-folder.js'
import { createCors, type Cors } from '../http/cors.js'
import { Clock } from '../core/clock.js'
import { Expiries } from '../core/expiries.js'
import type { LiveAnswers } from '../live/live-queries.js'
import { localAddress, PublicUrl } from './public-url.js'
import { Ending } from '../http/ending.js'
import { RequestObservers } from '../http/request-observers.js'
import { createResponder } from '../http/responder.js'
import type { RequestSettings } from '../http/server-request.js'
import { StreamRegister } from '../http/stream-register.js'
import type { Class } from '../metadata/class-metadata.js'
import { Database } from '../records/database.js'
import { followCallers } from '../records/request-caller.js'
import { followUsers, wantsUser } from '../records/statements/hooks.js'
import { reachable } from '../routing/route.js'
import type { Application } from './application.js'
import { isCaptured } from './captured-call.js'
import { currentRequest, followRequests } from '../serving/current-request.js'
import { ApplicationState } from '../serving/application-state.js'
import { Dispatcher } from '../serving/dispatcher.js'
import { Routes } from '../serving/routes.js'
import type { ServeContext } from '../serving/serve-route.js'
import { fillTable, type FilledTable } from './fill-table.js'
import { guestOf } from './guest.js'
import { createGraphqlUpgrades } from './graphql-sockets.js'
import { listen } from './listen.js'
import type { BootstrapOptions } from './options.js'
import {
  createAuth,
  createContext,
  createRoutes,
  createState,
  type Serving,
} from './own-providers.js'
import { planApplication, type ApplicationPlan } from './plan-application.js'
import { createApplication, logFailure } from './running-application.js'
import { logOpenDoors } from './open-doors.js'
import { logOpenRecords } from './open-records.js'
import { toStartFault } from './start-fault.js'
import { logStartWarnings } from './start-warnings.js'
import { closeInTime, whileAnswering } from './silent-database.js'
import { openStorage, type Storage } from './storage.js'
import { otherWorkers, reportToPrimary } from './workers.js'

// Files that import each other fail before `bootstrap` is called.
explainImportCycles()

/**
 * Starts an application.
 *
 * @param module the class with `@Module` that contains everything
 * @returns once it listens; with `{ listen: false }` once it can handle requests
 * @throws {DeclarationError} if the application is faulty: all faults in one report
 */
export async function bootstrap(
  module: Class,
  options: BootstrapOptions = {},
): Promise<Application> {
  if (isCaptured({ module, options })) return new Promise(() => undefined)
  const began = performance.now()
  const plan = await planApplication(module, options, true)
  logStartWarnings(reachable(plan.routes), plan.settings, plan.log)
  logOpenRecords(plan, plan.log)
  if (plan.environment.production) logOpenDoors(plan, options, plan.log)
  const storage = await openStorage({ ...plan, ...storageOptions(plan, options) })
  try {
    const application = await whileAnswering(storage.database, () => start(plan, storage, options))
    const took = `${Math.round(performance.now() - began)} ms`
    const url = plan.settings.listen ? application.url : undefined
    plan.log.info(
      { url, routes: reachable(plan.routes).length, driver: storage.database?.driverName, took },
      url === undefined ? 'ready' : `listening at ${url}`,
    )
    guestOf(plan.environment)?.started({ plan, state: application.get(ApplicationState) }, url)
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
    needed: needsDatabase,
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
  const context = createContext(plan, storage, auth, options)
  const observers = new RequestObservers()
  const state = createState(plan, storage, context, observers)
  const late: Late = { port: settings.port, serving: undefined }
  provideOwn(plan, storage, late, { auth, state, gate: context.gate })
  bindGraphql(plan, storage, context.live)
  followAsNeeded(plan, storage)
  await container.makeAll()
  await container.start().catch((error: unknown) => {
    throw toStartFault(error)
  })
  const cors = createCors(options.cors, plan.corsHeaders)
  const ending = new Ending()
  const requests = requestSettings(plan, ending, cors)
  const { dispatcher, servedRoutes } = createDispatcher(plan, context, {
    ...{ auth, state, observers, cors, ending, requests },
  })
  late.serving = { dispatcher, served: servedRoutes }
  const guest = guestOf(plan.environment)
  const take = guest?.attend({ plan, state })
  const keeper = guest?.keeper
  const listener = await listen({
    settings,
    dispatcher,
    faultHeaders: cors.fixed ?? [],
    log: plan.log,
    upgrade: createUpgrades(plan, context, { dispatcher, cors, ending, requests }),
    take,
    keeper,
  })
  // Nobody waits for it: it concerns processes that were killed.
  void removeLeftFolders().catch((error: unknown) => {
    plan.log.warn({ err: error }, 'folders of uploads that a killed process left cannot be removed')
  })
  if (listener !== undefined) late.port = Number(new URL(listener.url).port)
  const running = {
    ...{ state, dispatcher, ending, listener },
    ...{ live: context.live, isKept: keeper !== undefined },
  }
  const application = createApplication(plan, storage, running)
  if (listener !== undefined) reportToPrimary(listener.url, () => application.close())
  return application
}

/** What is known only later than providers ask for it. */
interface Late {
  /** The port that is asked for, then the one that is open. */
  port: number
  /** Undefined until the application can answer. */
  serving: Serving | undefined
}

/** Provides the framework's own classes. */
function provideOwn(
  { container, clock, environment, settings, routes }: ApplicationPlan,
  { database }: Storage,
  late: Late,
  { auth, state, gate }: { auth: Auth; state: ApplicationState; gate: Gate },
): void {
  const address = (): string =>
    settings.publicUrl ?? localAddress(late.port, environment.production)
  container.provide(Auth, auth)
  container.provide(Clock, clock)
  container.provide(PublicUrl, new PublicUrl(address, settings.basePath))
  if (database !== undefined) container.provide(Database, database)
  container.provide(ApplicationState, state)
  container.provide(
    Routes,
    createRoutes(routes, gate, () => late.serving),
  )
}

function bindGraphql(
  { graphql, environment, authOptions, settings, log, clock, container }: ApplicationPlan,
  { database }: Storage,
  live: LiveAnswers,
): void {
  for (const instance of graphql.instances) {
    instance.bind({
      database,
      log,
      production: environment.production,
      events: settings.bounds.events,
      closed: authOptions.closed,
      clock,
      live,
      get: (token: symbol): unknown => container.get(token),
    })
  }
}

/** Lets code find the request it runs in, where something needs it: that costs every request a little. */
function followAsNeeded(
  { container, requestContext }: ApplicationPlan,
  { database }: Storage,
): void {
  const hasReplicas =
    database !== undefined && followCallers(database, currentRequest, otherWorkers())
  const hasHooks = database !== undefined && [...database.tables].some(wantsUser)
  if (hasHooks) followUsers(currentRequest)
  if (database !== undefined) database.context.providers.get = (token) => container.get(token)
  if (requestContext || hasReplicas || hasHooks) followRequests()
}

function requestSettings(
  { settings, log, authOptions, clock }: ApplicationPlan,
  ending: Ending,
  cors: Cors,
): RequestSettings {
  const { publicUrl } = settings
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin
  const now = (): number => clock.now()
  return {
    ...settings,
    log,
    tokenCookie: authOptions.cookie,
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
}

function createDispatcher(
  plan: ApplicationPlan,
  context: ServeContext,
  { auth, state, observers, cors, ending, requests }: DispatcherParts,
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
    responder: createResponder({ cors, log, streams, errors: settings.errors }),
    cors,
    application: state,
    observers,
    settings: requests,
    maxUrlLength: settings.limits.url,
    shortestTime: shortestTime(plan),
  })
  return { dispatcher, servedRoutes: filled.servedRoutes }
}

/** What takes requests for a WebSocket. */
function createUpgrades(
  { graphql, settings, log }: ApplicationPlan,
  { gate }: ServeContext,
  {
    dispatcher,
    cors,
    ending,
    requests,
  }: Pick<DispatcherParts, 'cors' | 'ending' | 'requests'> & { readonly dispatcher: Dispatcher },
): ReturnType<typeof createGraphqlUpgrades> {
  return createGraphqlUpgrades(graphql.instances, settings.basePath, {
    serve: (incoming, outgoing) => {
      dispatcher.serve(incoming, outgoing)
    },
    recognise: (request) => gate.recognise(request),
    isClosing: () => dispatcher.draining,
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
  const own = routes.map(({ route }) => route.options.timeout ?? handler)
  return own.reduce((least, time) => Math.min(least, time), Math.min(handler, request, upload))
}
