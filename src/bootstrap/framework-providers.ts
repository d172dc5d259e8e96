/** Creates what every application has of the framework: its providers, and what the routes are served with. */
import type { Class } from '../metadata/class.js'
import { HealthCheck } from '../extensions/custom-metadata.js'
import { Auth } from '../auth/auth.js'
import { createGate, type Gate } from '../auth/gate.js'
import { createKeys } from '../auth/keys.js'
import type { RequestObservers } from '../http/request-observers.js'
import { ServerRequest } from '../http/server-request.js'
import { LiveQueries } from '../live/live-queries.js'
import { toLoggableError } from '../serving/redaction/loggable-error.js'
import { ApplicationState, type Check } from '../serving/application-state.js'
import { againInRequest } from '../serving/current-request.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import { Routes, type RoutesParts } from '../serving/routes.js'
import type { ServeContext } from '../serving/serve-route.js'
import { createSessionManager } from '../auth/sessions.js'
import { describeRoutes } from './describe-routes.js'
import type { BootstrapOptions } from './options.js'
import type { ApplicationPlan } from './plan-application.js'
import { Database } from '../records/database.js'
import type { Storage } from './storage.js'

export function createAuth(
  { authOptions, log, settings, clock }: ApplicationPlan,
  { tokens }: Storage,
): Auth {
  return new Auth({
    ...authOptions,
    keys: createKeys({ origin: authOptions.keys, log, maxBytes: settings.bounds.jwks }),
    log,
    now: () => clock.now(),
    ...tokens,
  })
}

export function createServeContext(
  { authOptions, log, settings, clock, environment, container }: ApplicationPlan,
  { database, sessions: store }: Storage,
  auth: Auth,
  options: BootstrapOptions,
): ServeContext {
  const idle = options.sessions?.idle
  const { apiKey, formToken, cookie, source } = authOptions
  return {
    gate: createGate({ apiKey, auth, formToken, cookie, source, log }),
    formToken,
    sessions: createSessionManager({
      store,
      ...(idle === undefined ? {} : { idle }),
      log,
      maxByAddress: settings.bounds.sessionsByAddress,
      // Sessions in the database belong to all its processes; a custom store uses the time of this
      // process.
      now:
        database === undefined || options.sessions?.store !== undefined
          ? () => clock.now()
          : () => database.now(clock),
    }),
    times: settings.times,
    live: new LiveQueries({
      options: settings.live,
      clock,
      log,
      inRequest: againInRequest,
      watch: auth.watch.bind(auth),
    }),
    database,
    usesDatabase: (controller) => container.dependsOn(controller, Database),
    promises: environment.production
      ? undefined
      : { log, follows: environment.development ? 'always' : 'first' },
  }
}

/** What `Routes` uses of the running application. */
export type RunningRoutes = ReturnType<RoutesParts['serving']>

export function createRoutes(
  planned: readonly PlannedRoute[],
  gate: Gate,
  runningRoutes: () => RunningRoutes | undefined,
): Routes {
  return new Routes({
    planned,
    gate,
    describe: describeRoutes(planned).describe,
    serving: () => {
      const running = runningRoutes()
      if (running === undefined)
        throw new Error('Routes can be called once the application has started.')
      return running
    },
  })
}

export function createState(
  plan: ApplicationPlan,
  { database }: Storage,
  { gate, live, promises }: ServeContext,
  observers: RequestObservers,
): ApplicationState {
  const { log, redactor, settings, environment, graphql, records, container, authOptions } = plan
  const { cookieNames } = plan
  return new ApplicationState({
    log,
    redactError: (thrown) => toLoggableError(thrown, redactor),
    observers,
    listening: settings.listen,
    production: environment.production,
    takesCookie: authOptions.cookie,
    cookieNames,
    promises,
    database,
    graphql: graphql.instances,
    mainGraphql: graphql.main,
    records,
    live: () => live.counted,
    callerOf: (request) => (request instanceof ServerRequest ? gate.identify(request) : undefined),
    reset: () => container.reset(),
    providers: () => [...new Set(container.instances().map(([, instance]) => instance))],
    checks: () => container.instances().flatMap(([, instance]) => healthChecksOf(instance)),
  })
}

/** The methods of a provider with `@HealthCheck`. */
function healthChecksOf(instance: unknown): readonly Check[] {
  if (typeof instance !== 'object' || instance === null) return []
  const methods = instance as Readonly<Record<string, () => unknown>>
  return [...HealthCheck.read(instance.constructor as Class)].map(([member, [name]]) => ({
    name,
    check: () => methods[member]?.(),
  }))
}
