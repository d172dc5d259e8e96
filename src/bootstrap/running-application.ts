/** The application that a program gets once it runs, and how it closes: in which order, and how long each part may take. */
import { rolesOf } from '../auth/access.js'
import type { Log } from '../core/log.js'
import type { Ending } from '../http/ending.js'
import type { LiveQueries } from '../live/live-queries.js'
import { isOperational } from '../openapi/documented-route.js'
import { reachable } from '../routing/route.js'
import type { ApplicationState } from '../serving/application-state.js'
import type { Dispatcher } from '../serving/dispatcher.js'
import type { PlannedRoute } from '../serving/served-route.js'
import { Application, type RouteSummary } from './application.js'
import type { Container } from './container.js'
import type { Listener } from './listen.js'
import type { ApplicationPlan } from './plan-application.js'
import { closeWithProcess } from './signals.js'
import type { Storage } from './storage.js'

/** Milliseconds that providers and the database have to stop, in a process that failed. */
const closingTime = 5_000

export interface Running {
  readonly state: ApplicationState
  readonly dispatcher: Dispatcher
  readonly ending: Ending
  readonly listener: Listener | undefined
  readonly live: LiveQueries
  /** Whoever connects meanwhile waits for the next process. */
  readonly isKept: boolean
}

export function createApplication(
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

/** Logs what goes wrong in a provider that stops: the others stop all the same. */
export function logFailure(log: Log, what = 'onStop'): (error: unknown) => void {
  return (error) => {
    log.error({ err: error }, `${what} failed`)
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
