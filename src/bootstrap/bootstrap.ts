/**
 * Starts an application, in this order: notes → checked, frozen data (`plan-application.ts`) → database → providers →
 * a route table → a server.
 */
import { rolesOf } from '../auth/access.js'
import { Auth } from '../auth/auth.js'
import { createGate, type Gate } from '../auth/gate.js'
import { createKeys } from '../auth/keys.js'
import { createCors } from '../http/cors.js'
import { Clock } from '../core/clock.js'
import { Expiries } from '../core/expiries.js'
import { LiveAnswers } from '../live/live-answers.js'
import type { Log } from '../core/log.js'
import { localAddress, PublicUrl } from './public-url.js'
import { Ending } from '../http/ending.js'
import { RequestObservers } from '../http/request-observers.js'
import { describeOperations } from '../openapi/document.js'
import { isOperational } from '../openapi/documented-route.js'
import { createResponder } from '../http/responder.js'
import { StreamRegister } from '../http/stream-register.js'
import type { Class } from '../metadata/note.js'
import { Database } from '../records/database.js'
import { followCallers } from '../records/request-caller.js'
import { followUsers, wantsUser } from '../records/statements/run-hooks.js'
import { reachable } from '../routing/route.js'
import { createSessionKeeper } from '../sessions/keeper.js'
import { Application, type RouteSummary } from './application.js'
import type { Container } from './container.js'
import { isCaptured } from './captured-call.js'
import { againInRequest, currentRequest, followRequests } from '../serving/current-request.js'
import { ServerRequest } from '../http/server-request.js'
import { ApplicationState } from '../serving/application-state.js'
import { Dispatcher } from '../serving/dispatcher.js'
import { Routes, type RoutesParts } from '../serving/routes.js'
import { fillTable } from './fill-table.js'
import { guestOf } from './guest.js'
import { createGraphqlUpgrades } from './graphql-sockets.js'
import { listen, type Listener } from './listen.js'
import type { BootstrapOptions } from './options.js'
import { planApplication, type ApplicationPlan } from './plan-application.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { ServeContext } from '../serving/serve-route.js'
import { closeWithProcess } from './signals.js'
import { logOpenDoors } from './open-doors.js'
import { logOpenRecords } from './open-records.js'
import { toStartFault } from './start-fault.js'
import { logStartWarnings } from './start-warnings.js'
import { closeInTime, whileAnswering } from './silent-database.js'
import { openStorage, type Storage } from './storage.js'
import { otherWorkers, reportToPrimary } from './workers.js'

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
  const { settings, log, container } = plan
  const auth = createAuth(plan, storage)
  container.provide(Auth, auth)
  container.provide(Clock, plan.clock)
  let { port } = settings
  const late: { serving?: Serving } = {}
  const { production } = plan.environment
  container.provide(
    PublicUrl,
    new PublicUrl(() => settings.publicUrl ?? localAddress(port, production), settings.basePath),
  )
  if (storage.database !== undefined) container.provide(Database, storage.database)
  const context = createContext(plan, storage, auth, options)
  const observers = new RequestObservers()
  const { live } = context
  const state = createState(plan, storage, context, observers)
  container.provide(ApplicationState, state)
  container.provide(
    Routes,
    createRoutes(plan.routes, context.gate, () => late.serving),
  )
  for (const instance of plan.graphql.instances) {
    const { production } = plan.environment
    const { closed } = plan.authOptions
    const { events } = settings.bounds
    const get = (token: symbol): unknown => container.get(token)
    instance.bind({
      database: storage.database,
      log,
      production,
      events,
      closed,
      clock: plan.clock,
      live,
      get,
    })
  }
  const { database } = storage
  const hasReplicas =
    database !== undefined && followCallers(database, currentRequest, otherWorkers())
  const hasHooks = database !== undefined && [...database.tables].some(wantsUser)
  if (hasHooks) followUsers(currentRequest)
  if (database !== undefined) database.context.home.get = (token) => container.get(token)
  if (plan.requestContext || hasReplicas || hasHooks) followRequests()
  await container.makeAll()
  await container.start().catch((error: unknown) => {
    throw toStartFault(error)
  })
  const cors = createCors(options.cors)
  const ending = new Ending()
  const watch = auth.watch.bind(auth)
  const tokenCookie = plan.authOptions.cookie
  const now = (): number => plan.clock.now()
  const { publicUrl } = settings
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin
  const requests = { ...settings, log, tokenCookie, ending, now, publicOrigin }
  const filled = fillTable(plan, context, (incoming, outgoing) => {
    dispatcher.serve(incoming, outgoing)
  })
  const dispatcher: Dispatcher = new Dispatcher({
    ...filled,
    responder: createResponder({
      cors,
      log,
      streams: new StreamRegister({
        ...settings.bounds,
        ending,
        watch,
        expiries: new Expiries(plan.clock),
      }),
    }),
    cors,
    application: state,
    observers,
    settings: requests,
    mostUrl: settings.limits.url,
    shortestTime: shortestTime(plan),
  })
  late.serving = { dispatcher, served: filled.servedRoutes }
  const guest = guestOf(plan.environment)
  const take = guest?.attend({ plan, state })
  const keeper = guest?.keeper
  const faultHeaders = cors.fixed ?? []
  const upgrade = createGraphqlUpgrades(plan.graphql.instances, settings.basePath, {
    serve: (incoming, outgoing) => {
      dispatcher.serve(incoming, outgoing)
    },
    recognise: (request) => context.gate.recognise(request),
    isClosing: () => dispatcher.draining,
    mostOperations: settings.bounds.streamsByAddress,
    patience: settings.times.headers,
    settings: requests,
    cors,
    ending,
    log,
  })
  const listener = await listen({ settings, dispatcher, faultHeaders, log, upgrade, take, keeper })
  if (listener !== undefined) port = Number(new URL(listener.url).port)
  const running = { state, dispatcher, ending, listener, live, isKept: keeper !== undefined }
  const application = createApplication(plan, storage, running)
  if (listener !== undefined) reportToPrimary(listener.url, () => application.close())
  return application
}

function createAuth(
  { authOptions, log, settings, clock }: ApplicationPlan,
  { tokens }: Storage,
): Auth {
  return new Auth({
    ...authOptions,
    keys: createKeys({ origin: authOptions.keys, log, mostBytes: settings.bounds.jwks }),
    log,
    now: () => clock.now(),
    ...tokens,
  })
}

function createContext(
  { authOptions, log, settings, clock, environment }: ApplicationPlan,
  { database, sessions: store }: Storage,
  auth: Auth,
  options: BootstrapOptions,
): ServeContext {
  const idle = options.sessions?.idle
  const { apiKey, formToken, cookie } = authOptions
  return {
    gate: createGate({ apiKey, auth, formToken, cookie, log }),
    formToken,
    sessions: createSessionKeeper({
      store,
      ...(idle === undefined ? {} : { idle }),
      log,
      mostByAddress: settings.bounds.sessionsByAddress,
      // Those of the database belong to all its processes; a store of the application's own has this one's time.
      now:
        database === undefined || options.sessions?.store !== undefined
          ? () => clock.now()
          : () => database.now(clock),
    }),
    times: settings.times,
    live: new LiveAnswers({
      options: settings.live,
      clock,
      log,
      inRequest: againInRequest,
      watch: auth.watch.bind(auth),
    }),
    database,
    promises: environment.production
      ? undefined
      : { log, follows: environment.development ? 'always' : 'first' },
  }
}

function shortestTime({ settings, routes }: ApplicationPlan): number {
  const { handler, request, upload } = settings.times
  const own = routes.map(({ route }) => route.options.timeout ?? handler)
  return own.reduce((least, time) => Math.min(least, time), Math.min(handler, request, upload))
}

function logFailure(log: Log, what = 'onStop'): (error: unknown) => void {
  return (error) => {
    log.error({ err: error }, `${what} failed`)
  }
}

/** Milliseconds that providers and the database have to stop, in a process that failed. */
const closingTime = 5_000

interface Running {
  readonly state: ApplicationState
  readonly dispatcher: Dispatcher
  readonly ending: Ending
  readonly listener: Listener | undefined
  readonly live: LiveAnswers
  /** Whoever connects meanwhile waits for the next process. */
  readonly isKept: boolean
}

function createApplication(
  { container, routes, document, graphql, log, settings }: ApplicationPlan,
  storage: Storage,
  { state, dispatcher, ending, listener, live, isKept }: Running,
): Application {
  let forgetSignals: () => void = () => undefined
  const application = new Application({
    dispatcher,
    routes: Object.freeze(reachable(routes).map(toSummary)),
    document,
    graphql: graphql.main,
    get: (token) => container.get(token),
    url: listener?.url,
    close: async () => {
      state.closing = true
      dispatcher.draining = true
      // The next process waits, and no balancer has to notice.
      if (container.hasClosing) await tellClosing(container, isKept ? 0 : settings.times.drain, log)
      // Streams would never end by themselves, and the port waits for them.
      for (const { streams } of graphql.instances) streams.close()
      live.close()
      ending.begin(listener === undefined || isKept ? 0 : settings.times.linger)
      await listener?.close()
      await container.stop(logFailure(log))
      await storage.close()
      forgetSignals()
    },
  })
  if (listener !== undefined) {
    const patience = settings.times.drain + closingTime
    forgetSignals = closeWithProcess(application, { log, patience })
  }
  return application
}

/** `onClosing` may delay the closing of the port, so that load balancers can notice it. */
async function tellClosing(container: Container, most: number, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, most)
  })
  await Promise.race([container.closing(logFailure(log, 'onClosing')), end])
  clearTimeout(timer)
}

type Serving = ReturnType<RoutesParts['serving']>

function createRoutes(
  planned: readonly PlannedRoute[],
  gate: Gate,
  serving: () => Serving | undefined,
): Routes {
  return new Routes({
    planned,
    gate,
    describe: () => {
      const { operations, schemas } = describeOperations(planned)
      return {
        schemas,
        operations: new Map([...operations].map(([{ info }, made]) => [info, made])),
      }
    },
    serving: () => {
      const there = serving()
      if (there === undefined)
        throw new Error('Routes can be called once the application has started.')
      return there
    },
  })
}

function createState(
  { log, settings, environment, graphql, records, container, authOptions }: ApplicationPlan,
  { database }: Storage,
  { gate, live, promises }: ServeContext,
  observers: RequestObservers,
): ApplicationState {
  return new ApplicationState({
    log,
    observers,
    listening: settings.listen,
    production: environment.production,
    takesCookie: authOptions.cookie,
    promises,
    database,
    graphql: graphql.instances,
    mainGraphql: graphql.main,
    records,
    live: () => live.counted,
    callerOf: (request) => (request instanceof ServerRequest ? gate.identify(request) : undefined),
    reset: () => container.reset(),
    providers: () => [...new Set(container.instances().map(([, instance]) => instance))],
    checks: () =>
      container.instances().flatMap(([name, instance]) => {
        const check = (instance as { check?: unknown } | null | undefined)?.check
        if (typeof check !== 'function' || instance === database) return []
        return [{ name, check: (): unknown => Reflect.apply(check, instance, []) }]
      }),
  })
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
