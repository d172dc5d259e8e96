/** The state of a running application, for modules: name it in a constructor. */
import type { Log } from '../core/log.js'
import type { LiveCounts } from '../live/live-queries.js'
import type { GraphQL } from '../graphql/graphql.js'
import type { HttpRequest, RequestAuth } from '../http/request.js'
import type { RequestObserver, RequestObservers } from '../http/request-observers.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Database } from '../records/database.js'
import { readAsOf } from '../records/request-caller.js'
import { followPromises, type PromiseWatch } from './floating-promises.js'

/** A provider that can report whether it works. */
export interface Check {
  /** The provider's name: `Mailer`. */
  readonly name: string
  /** Fails by throwing, or by returning false. */
  readonly check: () => unknown
}

export interface ApplicationStateParts {
  readonly log: Log
  readonly listening: boolean
  readonly production: boolean
  readonly takesCookie: boolean
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
  /** True if it listens on a port. */
  readonly listening: boolean
  /** True if `NODE_ENV` is `production`. */
  readonly production: boolean
  /** True if tokens may come by cookie and go there: `auth: { cookie: true }`. */
  readonly takesCookie: boolean
  /** Its database, if it has one. */
  readonly database: Database | undefined
  /** True once the application was told to close; it still answers for a while. */
  closing = false
  readonly #parts: ApplicationStateParts

  constructor(parts: ApplicationStateParts) {
    this.log = parts.log
    this.listening = parts.listening
    this.production = parts.production
    this.takesCookie = parts.takesCookie
    this.database = parts.database
    this.#parts = parts
  }

  /** The providers with a method `check`; available once the application has started. */
  get checks(): readonly Check[] {
    return this.#parts.checks()
  }

  /** All providers and controllers of the application; from `onStart` on. */
  get providers(): readonly unknown[] {
    return this.#parts.providers()
  }

  /**
   * Tells of each request that the application gets, for little: what measures all of them asks here, and not the
   * channel `filigree:request`, whose messages are made for each.
   *
   * @returns what ends it
   */
  observe(observer: RequestObserver): () => void {
    return this.#parts.observers.add(observer)
  }

  /**
   * The same work, of which the log knows the name where one of its promises fails and nobody waits for it; outside
   * production.
   */
  named<Given, Result>(name: string, work: (input: Given) => Result): (input: Given) => Result {
    const { promises } = this.#parts
    return promises === undefined ? work : followPromises(work, name, promises)
  }

  /** Calls `[resetState]` of every provider: what they have kept is forgotten. For tests. */
  reset(): Promise<void> {
    return this.#parts.reset()
  }

  /** From now on the request reads from the primary and not from a replica: used for answers that are cached. */
  readNow(request: HttpRequest): void {
    if (this.database !== undefined) readAsOf('now', request, this.database)
  }

  /**
   * Who calls, also on routes that do not ask: there a token that comes is checked for this alone, and neither the
   * handler nor the answer knows of it. A bad token is none; while the database does not say whether it is good, the promise
   * rejects with the 503 of secured routes.
   *
   * @returns at once for a token seen before
   */
  callerOf(request: HttpRequest): RequestAuth | undefined | Promise<RequestAuth | undefined> {
    return this.#parts.callerOf(request)
  }

  /** The records of its modules. */
  get records(): readonly Class[] {
    return this.#parts.records
  }

  /** Its GraphQL: that of the records, otherwise the first of the modules. */
  get graphql(): GraphQL | undefined {
    return this.#parts.mainGraphql
  }

  /** Subscriptions that are open. */
  get subscribers(): number {
    return this.#parts.graphql.reduce((sum, { streams }) => sum + streams.size, 0)
  }

  /** What is known of its live answers. */
  get live(): LiveCounts {
    return this.#parts.live()
  }

  /** True for a part of this application: its database, or one of its GraphQL instances. */
  owns(part: unknown): boolean {
    if (part === undefined) return false
    return part === this.database || (this.#parts.graphql as readonly unknown[]).includes(part)
  }
}
