/** A running application: the result of `bootstrap`. */
import type { GraphQL } from '../graphql/graphql.js'
import type { Class } from '../metadata/class-metadata.js'
import type { OpenApiDocument } from '../openapi/document.js'
import type { Dispatcher } from '../serving/dispatcher.js'
import { injectRequest, type InjectRequest, type InjectResponse } from '../serving/inject.js'
import { handleWebRequest } from '../serving/web.js'

/** A route, as applications may list it. */
export interface RouteSummary {
  readonly method: string
  /** The pattern, e.g. `/items/<id:int>`. */
  readonly path: string
  /** `ItemController.show`. */
  readonly name: string
  /** True if a token is required. */
  readonly secured: boolean
  /** The roles that are admitted; empty if every token is. */
  readonly roles: readonly string[]
  /** True for those of probes and scrapes: `@Operational`. */
  readonly operational: boolean
}

export interface ApplicationParts {
  readonly dispatcher: Dispatcher
  readonly routes: readonly RouteSummary[]
  /** Returns the OpenAPI document; writes it at the first call. */
  readonly document: () => OpenApiDocument
  /** The instance of the records, otherwise the first of the modules. */
  readonly graphql: GraphQL | undefined
  /** Returns a provider's instance. */
  readonly get: <T>(token: Class<T> | string | symbol) => T
  /** `undefined` for an application without a port. */
  readonly url: string | undefined
  /** Stops everything, in order; called once. */
  readonly close: () => Promise<void>
}

/**
 * A running application, as `bootstrap` returns it: its address and routes, `inject`, `handle`, `close`, and `get` for
 * providers.
 */
export class Application {
  /** All routes, in the order of declaration. */
  readonly routes: readonly RouteSummary[]
  readonly #parts: ApplicationParts
  #closed: Promise<void> | undefined

  constructor(parts: ApplicationParts) {
    this.#parts = parts
    this.routes = parts.routes
  }

  /**
   * The address on which it listens, e.g. `http://localhost:3000`.
   *
   * @throws {Error} with `{ listen: false }`
   */
  get url(): string {
    const { url } = this.#parts
    if (url === undefined) {
      throw new Error('app.url: this application does not listen. Use app.inject or app.handle.')
    }
    return url
  }

  /** The OpenAPI 3.1 document; written at the first access, then always the same object. */
  get openapi(): OpenApiDocument {
    return this.#parts.document()
  }

  /**
   * The GraphQL instance of the records, otherwise the first of the modules: `app.graphql.sdl`,
   * `app.graphql.execute(…)`.
   *
   * @throws {Error} in an application without GraphQL
   */
  get graphql(): GraphQL {
    const { graphql } = this.#parts
    if (graphql === undefined) {
      throw new Error(
        'app.graphql: this application has no GraphQL. Add records or graphql instances to its module.',
      )
    }
    return graphql
  }

  /**
   * The instance of a provider.
   *
   * @throws {Error} if no module provides it
   */
  get<T>(token: Class<T> | string | symbol): T {
    return this.#parts.get(token)
  }

  /** Sends a request through the whole application, without a socket. */
  inject(request: InjectRequest | string): Promise<InjectResponse> {
    const asked = typeof request === 'string' ? { url: request } : request
    return injectRequest(this.#parts.dispatcher, asked)
  }

  /**
   * Answers a web-standard request: for tests, serverless and other runtimes. An arrow function, so that it can be
   * passed on.
   */
  readonly handle = (request: Request): Promise<Response> =>
    handleWebRequest(this.#parts.dispatcher, request)

  /**
   * Stops accepting requests, lets those in flight end (10 s at most), then stops the providers. Calling it again is
   * safe.
   */
  close(): Promise<void> {
    this.#closed ??= this.#parts.close()
    return this.#closed
  }

  /** `await using app = await bootstrap(AppModule)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
