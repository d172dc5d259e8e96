/**
 * Puts an application together: notes → checked, frozen data → a route table → a server. Every fault that the
 * declarations have is gathered on the way and reported at once, before anything runs.
 */
import { Auth } from '../auth/auth.js'
import { createGate } from '../auth/gate.js'
import { createKeys } from '../auth/keys.js'
import { resolveAuthOptions, type ResolvedAuthOptions } from '../auth/options.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import { createCors } from '../http/cors.js'
import type { Log } from '../http/log.js'
import { createResponder } from '../http/responder.js'
import { createNodeServer, type NodeServer } from '../http/server.js'
import type { Class } from '../metadata/note.js'
import type { OpenApiDocument } from '../openapi/document.js'
import { RouteTable } from '../routing/route-table.js'
import { createSessionKeeper } from '../sessions/keeper.js'
import { createMemoryStore } from '../sessions/memory-store.js'
import { Application, type RouteSummary } from './application.js'
import { createContainer, type Container } from './container.js'
import { followRequests, namesCurrentRequest } from './current-request.js'
import { Dispatcher } from './dispatcher.js'
import { docsRoutes, documentReader, findDocumentationProblems } from './docs-routes.js'
import { readEnvironment } from './environment.js'
import { createLog } from './logger.js'
import { collectParts } from './module.js'
import { resolveOptions, type BootstrapOptions, type Settings } from './options.js'
import { warnOfSlowPatterns } from './pattern-warnings.js'
import { planRoutes, type PlannedRoute } from './plan-routes.js'
import { serveRoute, type ServeContext } from './serve-route.js'
import type { ServedRoute } from './served-route.js'
import { closeOnSignal } from './signals.js'
import { staticRoutes, type StaticRoute } from './static-files.js'
import { reportToPrimary, startsWorkers, startWorkers } from './workers.js'

/**
 * Starts an application.
 *
 * @param module the class with `@Module` that everything belongs to
 * @returns once it listens, or with `{ listen: false }` once it can be asked
 * @throws {DeclarationError} when the application is faulty: all faults in one report
 */
export async function bootstrap(
  module: Class,
  options: BootstrapOptions = {},
): Promise<Application> {
  const began = performance.now()
  const plan = await planApplication(module, options)
  const { settings, log, container } = plan
  warnOfSlowPatterns(plan.routes, log)
  if (options.requestContext ?? namesCurrentRequest(container.classes())) followRequests()
  await container.makeAll()
  await container.start(logFailure(log))
  const cors = createCors(options.cors)
  const dispatcher = new Dispatcher({
    table: fillTable(plan, createContext(plan, options)),
    responder: createResponder({ cors, log }),
    cors,
    settings,
    mostUrl: settings.limits.url,
    shortestTime: shortestTime(plan),
  })
  const server = await listen(plan, dispatcher, cors.fixed ?? [])
  const application = createApplication(plan, dispatcher, server)
  const url = server?.url
  if (url !== undefined) reportToPrimary(url, () => application.close())
  const took = `${Math.round(performance.now() - began)} ms`
  log.info(
    { url, routes: plan.routes.length, took },
    url === undefined ? 'ready' : `listening at ${url}`,
  )
  return application
}

/**
 * The OpenAPI document of an application that is not started: no provider is made, nothing listens.
 *
 * @throws {DeclarationError} as `bootstrap`
 */
export async function describeApplication(
  module: Class,
  options: BootstrapOptions = {},
): Promise<OpenApiDocument> {
  const { document } = await planApplication(module, options)
  return document()
}

/** What is known before anything of the application runs. */
interface ApplicationPlan {
  readonly settings: Settings
  readonly authOptions: ResolvedAuthOptions
  readonly log: Log
  readonly auth: Auth
  readonly routes: readonly PlannedRoute[]
  readonly folders: readonly StaticRoute[]
  readonly document: () => OpenApiDocument
  readonly container: Container
}

async function planApplication(module: Class, options: BootstrapOptions): Promise<ApplicationPlan> {
  const problems: Problem[] = []
  const environment = readEnvironment(options.env ?? process.env, problems)
  const settings = resolveOptions(options, environment, problems)
  const authOptions = resolveAuthOptions(options.auth, environment.variables, problems)
  const log = await createLog(options.logger, environment.logLevel)
  const auth = new Auth({
    ...authOptions,
    keys: createKeys({ source: authOptions.keys, log }),
    log,
  })
  const parts = collectParts(module, problems)
  const routes = planRoutes(parts.controllers, settings, problems)
  findDocumentationProblems(routes, settings.docs, problems)
  const folders = staticRoutes(settings.static, settings.times.handler, problems)
  const container = createContainer(
    {
      moduleName: parts.name,
      providers: parts.providers,
      controllers: parts.controllers,
      override: settings.override,
      builtIn: [{ provide: Auth, use: auth }],
    },
    problems,
  )
  if (problems.length > 0) throw new DeclarationError(problems)
  const document = documentReader(routes, settings.docs)
  return { settings, authOptions, log, auth, routes, folders, document, container }
}

function createContext(plan: ApplicationPlan, options: BootstrapOptions): ServeContext {
  const { authOptions, auth, log, settings } = plan
  const { store = createMemoryStore(), idle } = options.sessions ?? {}
  return {
    gate: createGate({ apiKey: authOptions.apiKey, auth, formToken: authOptions.formToken, log }),
    formToken: authOptions.formToken,
    sessions: createSessionKeeper({ store, ...(idle === undefined ? {} : { idle }), log }),
    times: settings.times,
  }
}

function fillTable(plan: ApplicationPlan, context: ServeContext): RouteTable<ServedRoute> {
  const table = new RouteTable<ServedRoute>()
  for (const planned of plan.routes) {
    const { route } = planned
    const controller = plan.container.get(route.controller)
    table.add(route.method, route.pattern, serveRoute(planned, controller, context))
  }
  // Behind the application's own routes, which win where both have a path.
  const { settings, document } = plan
  const pages = docsRoutes(settings.docs, document, {
    gate: context.gate,
    timeout: settings.times.handler,
  })
  for (const { pattern, served } of [...pages, ...plan.folders]) {
    table.add('GET', pattern, served)
  }
  return table
}

function shortestTime({ settings, routes }: ApplicationPlan): number {
  const { handler, request, upload } = settings.times
  const own = routes.map(({ route }) => route.options.timeout ?? handler)
  return own.reduce((least, time) => Math.min(least, time), Math.min(handler, request, upload))
}

/** What listens: a server of this process, or workers with one each. */
interface Listener {
  readonly url: string
  close(): Promise<void>
}

async function listen(
  { settings, container, log }: ApplicationPlan,
  dispatcher: Dispatcher,
  faultHeaders: readonly string[],
): Promise<Listener | undefined> {
  if (!settings.listen) return undefined
  try {
    if (startsWorkers(settings.workers)) return await startWorkers(settings.workers, log)
    const server = createServer(dispatcher, settings, faultHeaders)
    const url = await server.listen(settings.port, settings.host)
    return { url, close: () => server.close() }
  } catch (error) {
    await container.stop(logFailure(log))
    throw error
  }
}

function createServer(
  dispatcher: Dispatcher,
  { times }: Settings,
  faultHeaders: readonly string[],
): NodeServer {
  return createNodeServer({
    times,
    faultHeaders,
    serve: (incoming, outgoing) => {
      dispatcher.serve(incoming, outgoing)
    },
    refuseExpectation: (incoming, outgoing) => {
      dispatcher.refuse(
        incoming,
        outgoing,
        new HttpError(417, 'Only 100-continue can be expected.'),
      )
    },
  })
}

function logFailure(log: Log): (error: unknown) => void {
  return (error) => {
    log.error({ err: error }, 'onStop failed')
  }
}

function createApplication(
  { container, routes, document, log }: ApplicationPlan,
  dispatcher: Dispatcher,
  server: Listener | undefined,
): Application {
  let forgetSignals: () => void = () => undefined
  const application = new Application({
    dispatcher,
    routes: Object.freeze(routes.map(toSummary)),
    document,
    get: (token) => container.get(token),
    url: server?.url,
    close: async () => {
      dispatcher.draining = true
      await server?.close()
      await container.stop(logFailure(log))
      forgetSignals()
    },
  })
  if (server !== undefined) forgetSignals = closeOnSignal(application)
  return application
}

function toSummary({ route, access }: PlannedRoute): RouteSummary {
  return Object.freeze({
    method: route.method,
    path: route.pattern.text,
    name: route.name,
    secured: !access.open,
    roles: access.roles,
  })
}
