/** A running application: what `bootstrap` gives back. */
import type { GraphQL } from '../graphql/graphql.js'
import type { Class } from '../metadata/note.js'
import type { OpenApiDocument } from '../openapi/document.js'
import type { Dispatcher } from '../serving/dispatcher.js'
import { injectRequest, type InjectRequest, type InjectResponse } from '../serving/inject.js'
import { handleWebRequest } from '../serving/web.js'

/** One route, for listings. */
export interface RouteSummary {
  readonly method: string
  /** As matched, e.g. `/items/<id:int>`. */
  readonly path: string
  /** `ItemController.show`. */
  readonly name: string
  /** A token is needed. */
  readonly secured: boolean
  /** Roles that let in; empty where any token does. */
  readonly roles: readonly string[]
}

export interface ApplicationParts {
  readonly dispatcher: Dispatcher
  readonly routes: readonly RouteSummary[]
  /** Writes the OpenAPI document, once. */
  readonly document: () => OpenApiDocument
  /** The instance of the records, else the module's first. */
  readonly graphql: GraphQL | undefined
  /** Finds a provider's instance. */
  readonly get: <T>(token: Class<T> | string | symbol) => T
  /** `undefined` for an application without a port. */
  readonly url: string | undefined
  /** Ends everything, in order; called once. */
  readonly close: () => Promise<void>
}

/** What `bootstrap` gives: its address, its routes and its end, `inject` and `handle`, and the providers by `get`. */
export class Application {
  /** Every route in the order of declaration. */
  readonly routes: readonly RouteSummary[]
  readonly #parts: ApplicationParts
  #closed: Promise<void> | undefined

  constructor(parts: ApplicationParts) {
    this.#parts = parts
    this.routes = parts.routes
  }

  /**
   * Where it listens, e.g. `http://localhost:3000`.
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

  /** The OpenAPI 3.1 document; written when it is first asked for, the same object ever after. */
  get openapi(): OpenApiDocument {
    return this.#parts.document()
  }

  /**
   * The GraphQL of the module's records, else the module's first instance: `app.graphql.sdl`, `app.graphql.execute(…)`.
   *
   * @throws {Error} in an application without GraphQL
   */
  get graphql(): GraphQL {
    const { graphql } = this.#parts
    if (graphql === undefined) {
      throw new Error('app.graphql: there is none. Give the module records or graphql instances.')
    }
    return graphql
  }

  /**
   * The one instance of a provider.
   *
   * @throws {Error} when no module provides it
   */
  get<T>(token: Class<T> | string | symbol): T {
    return this.#parts.get(token)
  }

  /** Sends a request through everything but a socket. */
  inject(request: InjectRequest | string): Promise<InjectResponse> {
    const asked = typeof request === 'string' ? { url: request } : request
    return injectRequest(this.#parts.dispatcher, asked)
  }

  /** Answers a web-standard request: for tests, serverless and other runtimes. An arrow, so that it can be handed on. */
  readonly handle = (request: Request): Promise<Response> =>
    handleWebRequest(this.#parts.dispatcher, request)

  /** Stops accepting, lets requests in flight end (10 s at most), then stops the providers. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#parts.close()
    return this.#closed
  }

  /** `await using app = await bootstrap(AppModule)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
