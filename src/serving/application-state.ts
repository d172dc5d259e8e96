/** The state of a running application, for modules. To get it, declare it as a constructor parameter. */
import type { Log } from '../core/log.js'
import type { LiveCounts } from '../live/live-queries.js'
import type { GraphQL } from '../graphql/graphql.js'
import { clearTokenCookie } from '../http/token-cookie.js'
import type { CookieNames } from '../http/cookie-names.js'
import type { HttpRequest, RequestAuth } from '../http/request.js'
import { ServerRequest } from '../http/server-request.js'
import type { RequestObserver, RequestObservers } from '../http/request-observers.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Class } from '../metadata/class.js'
import type { Database } from '../records/database.js'
import { readAsOf } from '../records/request-caller.js'
import { followPromises, type PromiseWatch } from './current-request.js'

/** A provider that can report whether it works. */
export interface Check {
  /** The provider's name: `Mailer`. */
  readonly name: string
  /** Fails by throwing, or by returning false. */
  readonly check: () => unknown
}

export interface ApplicationStateParts {
  readonly log: Log
  readonly redactError: (thrown: unknown) => unknown
  readonly listening: boolean
  readonly production: boolean
  readonly takesCookie: boolean
  readonly cookieNames: CookieNames
  readonly database: Database | undefined
  readonly graphql: readonly GraphQL[]
  readonly mainGraphql: GraphQL | undefined
  readonly records: readonly Class[]
  readonly checks: () => readonly Check[]
  readonly providers: () => readonly unknown[]
  readonly live: () => LiveCounts
  readonly reset: () => Promise<void>
  readonly observers: RequestObservers
  readonly callerOf: (request: HttpRequest) => MaybePromise<RequestAuth | undefined>
  readonly promises: PromiseWatch | undefined
}

/** A running application, as modules see it. There is one instance for each application. */
export class ApplicationState {
  /** The application's log. */
  readonly log: Log
  /** True if the application listens on a port. */
  readonly listening: boolean
  /** True if `NODE_ENV` is `production`. */
  readonly production: boolean
  /** True if tokens may be read from and sent in a cookie: `auth: { cookie: true }`. */
  readonly takesCookie: boolean
  /** The application's database, if any. */
  readonly database: Database | undefined
  /** True once closing has begun. The application still responds for a while. */
  closing = false
  /** True if a provider has failed while it stopped. The process then ends with code 1. */
  failedToStop = false
  readonly #parts: ApplicationStateParts

  constructor(parts: ApplicationStateParts) {
    this.log = parts.log
    this.listening = parts.listening
    this.production = parts.production
    this.takesCookie = parts.takesCookie
    this.database = parts.database
    this.#parts = parts
  }

  /**
   * The name of a cookie, without `__Host-`. It differs from the names of other applications on this host:
   * `app_signin_3000`.
   *
   * @param purpose `token`, `session`, or the purpose of a module's own cookie
   */
  cookieName(purpose: string): string {
    const { cookieNames } = this.#parts
    if (purpose === 'token' || purpose === 'session') return cookieNames[purpose]
    return cookieNames.of(purpose)
  }

  /** Deletes the cookie with the caller's token. Has no effect if the token came otherwise, or is of another application. */
  clearTokenCookie(request: HttpRequest): void {
    if (request instanceof ServerRequest) clearTokenCookie(request)
  }

  /**
   * Copies an error for a place where people read it, as the log does: without secrets in its texts and properties. The copy
   * can be read even if the original throws when it is read.
   */
  redactError(thrown: unknown): Error {
    const copy = this.#parts.redactError(thrown)
    return copy instanceof Error ? copy : new Error(String(copy))
  }

  /** The providers with a method `check`. Available once the application has started. */
  get checks(): readonly Check[] {
    return this.#parts.checks()
  }

  /** All providers and controllers of the application. Available from `onStart` on. */
  get providers(): readonly unknown[] {
    return this.#parts.providers()
  }

  /**
   * Observes each request at low cost. Metrics for all requests use this instead of the channel `filigree:request`,
   * which creates a message for each request.
   *
   * @returns a function that ends the observation
   */
  observe(observer: RequestObserver): () => void {
    return this.#parts.observers.add(observer)
  }

  /**
   * Returns the same work with a name. Outside production, the log reports this name if a floating promise of the work
   * fails.
   */
  named<Given, Result>(name: string, work: (input: Given) => Result): (input: Given) => Result {
    const { promises } = this.#parts
    return promises === undefined ? work : followPromises(work, name, promises)
  }

  /** Calls `[resetState]` of every provider, so that they clear their state. For tests. */
  reset(): Promise<void> {
    return this.#parts.reset()
  }

  /** Makes the request read from the primary and not from a replica, for responses that are cached. */
  readNow(request: HttpRequest): void {
    if (this.database !== undefined) readAsOf('now', request, this.database)
  }

  /**
   * Returns the caller, also on routes that require no token. On such routes the token is checked only for this call,
   * and neither the handler nor the response is affected. An invalid token counts as none. The promise rejects with 503
   * while the database cannot tell whether the token is valid.
   *
   * @returns synchronously for a token that was seen before
   */
  callerOf(request: HttpRequest): RequestAuth | undefined | Promise<RequestAuth | undefined> {
    return this.#parts.callerOf(request)
  }

  /** The records of the application's modules. */
  get records(): readonly Class[] {
    return this.#parts.records
  }

  /** The application's GraphQL instance: the one of the records, otherwise the first of the modules. */
  get graphql(): GraphQL | undefined {
    return this.#parts.mainGraphql
  }

  /** Number of open subscriptions. */
  get subscribers(): number {
    return this.#parts.graphql.reduce((sum, { streams }) => sum + streams.size, 0)
  }

  /** Counters of live queries. */
  get live(): LiveCounts {
    return this.#parts.live()
  }

  /** True for a part of this application: its database, or one of its GraphQL instances. */
  owns(part: unknown): boolean {
    if (part === undefined) return false
    return part === this.database || (this.#parts.graphql as readonly unknown[]).includes(part)
  }
}
