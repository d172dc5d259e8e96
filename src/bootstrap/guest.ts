/**
 * For `filigree dev`: somebody who watches the applications of this process from inside. He comes before `bootstrap`, and
 * never to an application in production.
 */
import type { Log } from '../core/log.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import type { PortKeeper } from '../http/server.js'
import type { ApplicationState } from '../serving/application-state.js'
import type { ApplicationPlan } from './plan-application.js'

/** An application as the guest sees it. */
export interface VisitedApplication {
  readonly plan: ApplicationPlan
  readonly state: ApplicationState
}

/** Answers requests that are for the guest. @returns false for all others */
export type TakeRequest = (incoming: Incoming, outgoing: Outgoing) => boolean

export interface Guest {
  readonly keeper?: PortKeeper | undefined
  /** The log that the application writes to. */
  watchLog(log: Log): Log
  /** Called before the port is opened. */
  attend(application: VisitedApplication): TakeRequest
  /** Called once it listens; `url` is undefined where it opens no port. */
  started(application: VisitedApplication, url: string | undefined): void
}

let invited: Guest | undefined

/** For the whole process; undefined: nobody any more. */
export function invite(guest: Guest | undefined): void {
  invited = guest
}

/** @param production nobody is asked in there */
export function guestOf({ production }: { readonly production: boolean }): Guest | undefined {
  return production ? undefined : invited
}
