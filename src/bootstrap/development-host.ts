/**
 * The interface through which `filigree dev` observes the applications of this process. It is set before `bootstrap`
 * runs, and never used in production.
 */
import type { Log } from '../core/log.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import type { PageContent } from '../http/error-page.js'
import type { PortKeeper } from '../http/server.js'
import type { ServerRequest } from '../http/server-request.js'
import type { ApplicationState } from '../serving/application-state.js'
import type { ApplicationPlan } from './plan-application.js'

/** An application as the development host sees it. */
export interface HostedApplication {
  readonly plan: ApplicationPlan
  readonly state: ApplicationState
}

/** Handles requests that are for the development host. @returns false for other requests */
export type TakeRequest = (incoming: Incoming, outgoing: Outgoing) => boolean

/** What the development host does for one application. */
export interface AttachedHost {
  readonly take: TakeRequest
  /** The page that shows a developer why a request failed. It returns undefined for other clients and errors. */
  readonly errorPage: (request: ServerRequest, error: unknown) => PageContent | undefined
}

export interface DevelopmentHost {
  readonly keeper?: PortKeeper | undefined
  /** The log that the application writes to. */
  watchLog(log: Log): Log
  /** Called before the port is opened. */
  attach(application: HostedApplication): AttachedHost
  /** Called once it listens; `url` is undefined where it opens no port. */
  started(application: HostedApplication, url: string | undefined): void
}

let currentHost: DevelopmentHost | undefined

/** Sets the host of the whole process; undefined removes it. */
export function setDevelopmentHost(host: DevelopmentHost | undefined): void {
  currentHost = host
}

/** @param production the result is undefined in production */
export function developmentHostOf({
  production,
}: {
  readonly production: boolean
}): DevelopmentHost | undefined {
  return production ? undefined : currentHost
}
