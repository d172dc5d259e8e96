/**
 * The interfaces through which commands observe applications of their process: `filigree dev` watches running applications,
 * and commands that only describe an application capture its call of `bootstrap`, which then starts nothing.
 */

import type { IncomingMessage } from 'node:http'
import { setImmediate as eventLoopTick } from 'node:timers/promises'
import { findLoadingCopy, setLoadsApplication } from '../errors/copies.js'
import { DeclarationError } from '../errors/declaration-error.js'
import type { Class } from '../metadata/class.js'
import type { BootstrapOptions } from './options.js'
import type { Log } from '../core/log.js'
import type { Outgoing } from '../http/node-messages.js'
import type { PageContent } from '../http/error-page.js'
import type { PortHandover } from '../http/listener.js'
import type { ServerRequest } from '../http/server-request.js'
import type { ApplicationState } from '../serving/application-state.js'
import type { ApplicationPlan } from './plan-application.js'

/** An application as the development host sees it. */
export interface HostedApplication {
  readonly plan: ApplicationPlan
  readonly state: ApplicationState
}

/** Handles requests that are for the development host. @returns false for other requests */
export type TakeRequest = (incoming: IncomingMessage, outgoing: Outgoing) => boolean

/** The development host's hooks for one application. */
export interface AttachedHost {
  readonly take: TakeRequest
  /** The page that shows a developer why a request failed. It returns undefined for other clients and errors. */
  readonly errorPage: (request: ServerRequest, error: unknown) => PageContent | undefined
  /** A text for the built-in page, which tells a developer where to see why a request failed. */
  readonly errorHint: (request: ServerRequest) => string | undefined
}

export interface DevelopmentHost {
  readonly portHandover?: PortHandover | undefined
  /** The log that the application writes to. */
  watchLog(log: Log): Log
  /** Called before the port is opened. */
  attach(application: HostedApplication): AttachedHost
  /** Called once it listens. `url` is undefined if it opens no port. */
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

// Captures calls of `bootstrap`. While commands load an application's file, `bootstrap` starts nothing and passes its arguments
// to the command, so that a program in a single file can be described like one that exports its module.

/** The arguments of `bootstrap`. */
interface BootstrapCall {
  readonly module: Class
  readonly options: BootstrapOptions
}

let take: ((call: BootstrapCall) => void) | undefined
let wasCalled = false

/** @returns true if a program of this process has called `bootstrap` */
export function wasBootstrapCalled(): boolean {
  return wasCalled
}

interface CapturedBootstrap<T> {
  readonly call: BootstrapCall
  /** The loaded module. Undefined if it waits for its call, as `await bootstrap(…)` does. */
  readonly loaded: T | undefined
}

/**
 * Loads a file and captures its first call of `bootstrap`. That call never returns, so the code after `await` does not run.
 *
 * @returns the call or, if there was none, the loaded module
 */
export async function captureBootstrap<T>(
  load: () => Promise<T>,
): Promise<CapturedBootstrap<T> | { readonly loaded: T }> {
  const call = new Promise<{ call: BootstrapCall }>((resolve) => {
    take = (captured) => {
      resolve({ call: captured })
    }
  })
  setLoadsApplication(true)
  try {
    const loading = load().then((loaded) => ({ loaded }))
    const first = await Promise.race([call, loading])
    if (!('call' in first)) return first
    // A module that does not wait for its call is loaded as soon as the pending callbacks have run.
    const settled = await Promise.race([loading.catch(() => undefined), eventLoopTick(undefined)])
    return { ...first, loaded: settled?.loaded }
  } finally {
    setLoadsApplication(false)
    take = undefined
  }
}

/**
 * Called by `bootstrap`.
 *
 * @returns true if a command captures the call, so that nothing may be started
 * @throws {DeclarationError} the command was run from another copy of the package, which cannot capture the call
 */
export function isCaptured(call: BootstrapCall): boolean {
  wasCalled = true
  take?.(call)
  const otherCopy = take === undefined ? findLoadingCopy() : undefined
  if (otherCopy !== undefined) throw new DeclarationError([otherCopy])
  return take !== undefined
}
