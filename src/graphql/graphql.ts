/** A GraphQL schema that can be run: by the program, and at its routes. Source: specification, GraphQL endpoint; public API, GraphQL. */
import { Clock } from '../core/clock.js'
import { tokenAccess, openAccess } from '../auth/access.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import { defaultBounds } from '../http/limits.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import { silentLog, type Log } from '../core/log.js'
import type { Database } from '../records/database.js'
import type { Database as PublicDatabase } from '../records/database-face.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import { LiveQueries } from '../live/live-queries.js'
import { defaultLive } from '../live/options.js'
import type { Class } from '../metadata/class-metadata.js'
import { policyOf } from '../records/rights/record-policy.js'
import { requestOf, createReplicaPolicy } from './caller.js'
import { buildSchema } from './build-schema.js'
import {
  readDocuments,
  refuseUnknownSource,
  type DocumentsOption,
  type PersistedDocuments,
} from './documents.js'
import { isProduction, type EntryOptions } from './errors.js'
import { closedAccess, defaultAccess, Executor, type DefaultAccess } from './executor.js'
import { notRun, type Outcome, toResult, type GraphQLResult } from './outcome.js'
import { graphqlLibrary } from './library.js'
import type { GetProvider } from './injected-resolvers.js'
import { refuseUnknownLimits, resolveGraphqlLimits, type GraphqlLimits } from './limits.js'
import { mapIterator, OpenStreams } from './open-streams.js'
import { Refusal } from './operations.js'
import { generateRecords } from './generate-records.js'
import { readRequestParts } from './request-parts.js'
import { Schema } from './schema.js'

export interface GraphQLOptions {
  /** Where records are kept. Default: the application's, once the instance is in a module. */
  database?: PublicDatabase
  /** The cost limits of an operation. Defaults: `GraphqlLimits`. */
  limits?: Partial<GraphqlLimits>
  /** Show the IDE at GET. Default true. */
  ide?: boolean
  /** Persisted documents: `'./persisted.json'`, a map by id, or `{ from, only: true }` to run nothing else. */
  documents?: DocumentsOption
  /** Send `Internal server error` for what resolvers throw. Default: in production. */
  maskErrors?: boolean
  /** Seconds that answers to anonymous GET queries may be kept without asking. Default 0: they are asked for by ETag. */
  maxAge?: number
  /** Give records the subscription `xChanged`. Default true. */
  subscriptions?: boolean
  /** Take operations over WebSockets too (graphql-transport-ws). Default: where `ws` is installed. */
  sockets?: boolean
  /** Global ids, `node` and `nodes`, as Relay's clients want them. Default false. */
  relay?: boolean
  /** The log for failures of resolvers. Default: the application's log, once the instance is in a module. */
  log?: Log
  /** Bytes, roughly, of read documents that are kept. Default 33,554,432. */
  keep?: number
}

/** Unknown names among the options and the options within them. */
export function findOptionProblems(where: string, options: GraphQLOptions): Problem[] {
  const problems: Problem[] = []
  refuseUnknownNames(where, options, graphqlOptionNames, problems)
  const { limits, documents } = Object(options) as GraphQLOptions
  if (limits !== undefined) refuseUnknownLimits(limits, problems)
  refuseUnknownSource(documents, problems)
  return problems
}

/** Who may call a route's operations, for root fields that say nothing themselves. */
export interface GraphQLRouteOptions {
  /** Queries need a token too; text and lists are roles, any of which will do. */
  secured?: boolean | string | readonly string[]
  /** Mutations need none. */
  noAuth?: boolean
}

export interface GraphQLRoute {
  readonly path: string
  readonly access: DefaultAccess
}

/** What the application provides to its instances. */
export interface GraphQLHost {
  readonly database?: Database | undefined
  readonly log: Log
  readonly production: boolean
  /** Changes that may wait for a subscriber: `limits.events`. */
  readonly events?: number
  /** Queries need a token too, where nothing else is said. Default false. */
  readonly closed?: boolean
  /** Default: the system's. */
  readonly clock?: Clock
  /** The store of its live queries. */
  readonly live?: LiveQueries
  /** Gets instances of the application's container, for resolvers that need providers. */
  readonly get?: GetProvider
}

/** A GraphQL endpoint with a schema of its own: declared by `schema`, listed in `@Module({ graphql: [it] })`. */
export class GraphQL {
  /** Where types, queries, mutations and subscriptions are declared. */
  readonly schema: Schema
  readonly limits: GraphqlLimits
  readonly maxAge: number
  /** Subscriptions that are open. */
  readonly streams = new OpenStreams()
  /** Its endpoints take WebSockets; undefined: where `ws` is installed. */
  readonly sockets: boolean | undefined
  /** Where it is served, once it is in a module. */
  readonly routes: GraphQLRoute[] = []
  readonly #options: GraphQLOptions
  readonly #problems: Problem[] = []
  #only: ReadonlyMap<Class, boolean> | undefined
  /** The access rule of root fields without their own rule, if no route sets one. */
  #access: DefaultAccess = defaultAccess
  #host: GraphQLHost | undefined
  #standaloneLive: LiveQueries | undefined
  #executor: Executor | undefined
  #documents: PersistedDocuments | undefined
  #entryOptions: EntryOptions | undefined

  constructor(options: GraphQLOptions = {}) {
    this.#problems.push(...findOptionProblems('GraphQL', options))
    this.#options = { ...options }
    this.limits = resolveGraphqlLimits(options.limits ?? {}, this.#problems)
    this.maxAge = options.maxAge ?? 0
    this.sockets = options.sockets
    this.schema = new Schema((parts, problems) => {
      const { classes, added } = parts
      const { listMax } = this.limits
      const { subscriptions = true, relay = false } = options
      const database = this.#database
      const maxEvents = (): number => this.#host?.events ?? defaultBounds.events
      const now = (): number => this.#host?.clock?.now() ?? Date.now()
      const only = this.#only
      const services = { database, listMax, maxEvents, now, problems, added }
      const context = { ...services, subscriptions, relay, only }
      const generated = classes.size === 0 ? undefined : generateRecords([...classes], context)
      return buildSchema(parts, generated, problems)
    })
  }

  /** The schema's text, in GraphQL's schema language. */
  get sdl(): string {
    if (this.#problems.length > 0) throw new DeclarationError(this.#problems)
    return graphqlLibrary().printSchema(this.schema.build().schema)
  }

  /**
   * Runs a query or a mutation. The limits hold; a token is asked for only where `context` has a `user` or a `request`.
   *
   * @param context what resolvers get as their third argument
   * @param operationName needed where the document has several operations
   * @throws {DeclarationError} when the schema is faulty; whatever is wrong with the operation is in `errors`
   */
  async execute(
    query: string,
    variables?: Readonly<Record<string, unknown>> | null,
    context?: unknown,
    operationName?: string,
  ): Promise<GraphQLResult> {
    const operation = this.executor().find(query, operationName)
    const outcome = await this.#run(operation, variables ?? {}, context)
    return toResult(outcome, this.entryOptionsOf(context))
  }

  /**
   * Opens a subscription.
   *
   * @returns its results as they come, or the one result that says why there are none
   */
  async subscribe(
    query: string,
    variables?: Readonly<Record<string, unknown>> | null,
    context?: unknown,
    operationName?: string,
  ): Promise<GraphQLResult | AsyncIterableIterator<GraphQLResult>> {
    const executor = this.executor()
    const operation = executor.find(query, operationName)
    const options = this.entryOptionsOf(context)
    if (operation instanceof Refusal) return toResult(notRun(operation.errors), options)
    const opened = await executor.subscribe(
      operation,
      variables ?? {},
      context,
      this.accessFor(defaultAccess),
    )
    return Symbol.asyncIterator in opened
      ? mapIterator(opened, (outcome) => toResult(outcome, options))
      : toResult(opened, options)
  }

  /**
   * Runs what a parsed body asks for: `query`, `variables`, `operationName`, or `documentId`. For routes of one's own;
   * what is wrong with the body is in `errors`.
   */
  async handleRequest(body: unknown, context?: unknown): Promise<GraphQLResult> {
    const executor = this.executor()
    try {
      const parts = readRequestParts(body, this.documents())
      const operation = executor.find(parts.query, parts.operationName)
      const outcome = await this.#run(operation, parts.variables, context)
      return toResult(outcome, this.entryOptionsOf(context))
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      const { message, code } = error
      return { data: null, errors: [{ message, extensions: { code } }] }
    }
  }

  /** Serves it at a path, once the instance is in `@Module({ graphql: [...] })`: POST and GET run operations, GET shows the IDE. */
  registerRoute(path = '/graphql', options: GraphQLRouteOptions = {}): this {
    refuseUnknownNames(`GraphQL at ${path}`, options, routeNames, this.#problems)
    const { secured = false, noAuth = false } = options
    const roles = typeof secured === 'string' ? [secured] : secured
    const token = typeof roles === 'boolean' ? tokenAccess : { ...tokenAccess, roles }
    if (secured !== false && noAuth) {
      this.#problems.push({
        code: 'CONTRADICTING_ACCESS',
        message: `GraphQL at ${path} is both secured and noAuth.`,
        remedy: 'Keep one.',
      })
    }
    const read = secured === false ? openAccess : token
    const access = { read, write: noAuth ? openAccess : token }
    this.routes.push({ path, access: secured === false ? access : { ...access, secured: token } })
    return this
  }

  /**
   * Another endpoint for some records alone, with the same limits, database and log: what they lead to elsewhere is not
   * there, in introspection neither.
   *
   * @param records by their classes; true: clients may write them, as their rules say
   */
  only(records: ReadonlyMap<Class, boolean>): GraphQL {
    const options = { ...this.#options }
    delete options.documents
    const limited = new GraphQL({ ...options, subscriptions: false })
    limited.#only = records
    for (const type of records.keys()) limited.schema.fromOrm(type)
    limited.#access = this.routes[0]?.access ?? this.#access
    if (this.#host !== undefined) limited.bind(this.#host)
    return limited
  }

  /** True if somebody without a token may read some of its records. */
  get isOpen(): boolean {
    if (!this.accessFor(this.#access).read.open) return false
    return this.schema.records.some(
      (type) => policyOf(this.#database().table(type)).read?.open !== false,
    )
  }

  /** The page for developers is there unless it is turned off; where reads need a token, only if it is asked for. */
  get ide(): boolean {
    return this.#options.ide ?? this.#host?.closed !== true
  }

  /** Who may call where a root field says nothing: as a route says, and queries too by token alone where all is closed. */
  accessFor(access: DefaultAccess): DefaultAccess {
    if (this.#host?.closed !== true || access.write.open || !access.read.open) return access
    return access === defaultAccess ? closedAccess : { ...access, read: tokenAccess }
  }

  /** True where its records need the application's database. */
  get needsDatabase(): boolean {
    return this.#options.database === undefined && this.schema.records.length > 0
  }

  /** Gives the instance what the application has; its own options win. */
  bind(host: GraphQLHost): void {
    this.#host = host
    this.schema.resolvers.bind(host.get)
    this.streams.open()
    // What was prepared did not know the database.
    this.#entryOptions = this.#executor = undefined
  }

  /** Builds the schema and reads the persisted documents, and tells what is wrong with them. */
  prepare(problems: Problem[]): void {
    for (const read of [() => this.executor(), () => this.documents()]) {
      try {
        read()
      } catch (error) {
        if (!(error instanceof DeclarationError)) throw error
        problems.push(...error.problems)
      }
    }
  }

  /** Where live answers are kept: the application's, once the instance is in a module. */
  get live(): LiveQueries {
    if (this.#host?.live !== undefined) return this.#host.live
    const { log } = this.entryOptions
    const clock = this.#host?.clock ?? new Clock()
    this.#standaloneLive ??= new LiveQueries({ options: defaultLive, clock, log, watch: undefined })
    return this.#standaloneLive
  }

  /** Some rule of its records asks a guard, which may read whatever a request has. */
  get usesGuards(): boolean {
    return this.schema.records.some((type) => policyOf(this.#database().table(type)).mayAwaitGuards)
  }

  /** How failures are written and logged. */
  get entryOptions(): EntryOptions {
    const { log, maskErrors } = this.#options
    this.#entryOptions ??= Object.freeze({
      mask: maskErrors ?? this.#host?.production ?? isProduction(),
      log: log ?? this.#host?.log ?? silentLog,
    })
    return this.#entryOptions
  }

  /** The same for one operation, whose request the log names. */
  entryOptionsOf(context: unknown): EntryOptions {
    const request = requestOf(context)
    return request === undefined ? this.entryOptions : { ...this.entryOptions, request }
  }

  /** What runs operations; a new one after something was added to the schema. */
  executor(): Executor {
    if (this.#problems.length > 0) throw new DeclarationError(this.#problems)
    const built = this.schema.build()
    if (this.#executor?.built !== built) {
      const { keep = 33_554_432 } = this.#options
      const { limits, streams } = this
      const database = this.#boundDatabase
      const onRun = createReplicaPolicy(database)
      const within = database?.runForRequest.bind(database)
      this.#executor = new Executor({
        built,
        limits,
        cacheBytes: keep,
        streams,
        owner: this,
        onRun,
        runWithin: within,
      })
    }
    return this.#executor
  }

  documents(): PersistedDocuments {
    if (this.#documents === undefined) {
      const problems: Problem[] = []
      this.#documents = readDocuments(this.#options.documents, problems)
      if (problems.length > 0) throw new DeclarationError(problems)
    }
    return this.#documents
  }

  #run(
    operation: ReturnType<Executor['find']>,
    variables: Readonly<Record<string, unknown>>,
    context: unknown,
  ): MaybePromise<Outcome> {
    if (operation instanceof Refusal) return notRun(operation.errors)
    const { OperationTypeNode, GraphQLError } = graphqlLibrary()
    if (operation.node.operation === OperationTypeNode.SUBSCRIPTION) {
      return notRun([new GraphQLError('A subscription is opened with subscribe.')])
    }
    return this.executor().run(operation, variables, context, this.accessFor(this.#access))
  }

  get #boundDatabase(): Database | undefined {
    // What `connect` makes, whose insides applications do not see.
    return (this.#options.database as Database | undefined) ?? this.#host?.database
  }

  readonly #database = (): Database => {
    const database = this.#boundDatabase
    if (database !== undefined) return database
    throw new Error(
      'GraphQL: this instance has no database. Give new GraphQL({ database }), or put it into a module.',
    )
  }
}

const routeNames: Readonly<Record<keyof GraphQLRouteOptions, true>> = {
  secured: true,
  noAuth: true,
}

export const graphqlOptionNames: Readonly<Record<keyof GraphQLOptions, true>> = {
  database: true,
  documents: true,
  ide: true,
  keep: true,
  limits: true,
  log: true,
  maskErrors: true,
  maxAge: true,
  relay: true,
  sockets: true,
  subscriptions: true,
}
