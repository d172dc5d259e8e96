/**
 * The class `GraphQL`: a schema with its options, run by the program or at HTTP routes. Source: public API, GraphQL.
 */
import { hideShapes } from '../core/secrets.js'
import { clip } from '../core/text.js'
import { Clock } from '../core/time.js'
import { tokenAccess, openAccess } from '../auth/access.js'
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { HttpError } from '../errors/http-error.js'
import { defaultBounds } from '../http/limits.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { silentLog, type Log } from '../core/log.js'
import type { Database } from '../records/database.js'
import type { Database as PublicDatabase } from '../records/public-database.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import { LiveQueries } from '../live/live-queries.js'
import { defaultLive } from '../live/live.js'
import type { Class } from '../metadata/class.js'
import { policyOf } from '../records/rights/record-policy.js'
import { requestOf, createReplicaPolicy } from './operation-caller.js'
import { readOperationRequest } from './operation-request.js'
import { notRun, type Outcome, toResult, type GraphQLResult } from './outcome.js'
import { buildSchema } from './build-schema.js'
import {
  documentSource,
  isDocumentSource,
  readDocuments,
  type PersistedDocuments,
} from './documents.js'
import type { EntryOptions } from './errors.js'
import { closedAccess, defaultAccess, Executor, type DefaultAccess } from './executor.js'
import { graphqlLibrary } from './library.js'
import type { GetProvider } from './injected-resolvers.js'
import { limitOptions, type GraphqlLimits } from './limits.js'
import { mapIterator, OpenStreams } from './open-streams.js'
import { type Operation, RefusedDocument } from './operations.js'
import type { PlanningFailure } from './planner-contract.js'
import { generateRecords } from './generate-records.js'
import { describeSchema } from './records/describe-schema.js'
import type { VisibleMembers } from '../openapi/visible-members.js'
import { Schema, type BuildSchema } from './schema.js'

/** The options of an instance, and of `bootstrap`. */
export const commonGraphqlOptions = declareOptions({
  /** Limits of an operation's size and cost. Defaults: see `GraphqlLimits`. */
  limits: option.object(limitOptions, 'Write limits: { depth: 12 }.'),
  /** Serve the IDE for GET requests of browsers. Default true. */
  ide: option.flag(),
  /** Persisted documents: `'./persisted.json'`, an object by id, or `{ from, only: true }` to reject all others. */
  documents: option
    .any<string | Readonly<Record<string, string>>>()
    .or(documentSource, isDocumentSource),
  /** Hide the messages of unexpected errors of resolvers. Default: true in production. */
  maskErrors: option.flag(),
  /** Seconds for which caches may reuse responses to anonymous GET queries. Default 0: caches revalidate by ETag. */
  maxAge: option.any<number>(),
  /** Generate the subscription `xChanged` for records. Default true. */
  subscriptions: option.flag(),
  /** Accept operations over WebSockets (graphql-transport-ws). Default: true if `ws` is installed. */
  sockets: option.flag(),
  /** Generate global ids and the queries `node` and `nodes`, as Relay clients require. Default false. */
  relay: option.flag(),
  /** The approximate size of the cache of parsed documents in bytes. Default 33,554,432. */
  cacheBytes: option.integer(0).shown().default(33_554_432),
})

const graphqlOptions = declareOptions({
  /** The database of the records. Default: the application's, if the instance is in a module. */
  database: option.any<PublicDatabase>(),
  /** The log for errors of resolvers. Default: the application's log, if the instance is in a module. */
  log: option.any<Log>(),
  ...commonGraphqlOptions.all,
})

export interface GraphQLOptions extends OptionsOf<typeof graphqlOptions> {}

export const graphqlRouteOptions = declareOptions({
  /** Require a token for queries too. A string or a list requires one of these roles. */
  secured: option.any<boolean | string | readonly string[]>(),
  /** Do not require a token for mutations. */
  noAuth: option.flag(),
})

/** The access of a route, for root fields without a rule of their own. */
export interface GraphQLRouteOptions extends OptionsOf<typeof graphqlRouteOptions> {}

export interface GraphQLRoute {
  readonly path: string
  readonly access: DefaultAccess
}

/** The services of the application for its `GraphQL` instances. */
export interface GraphQLHost {
  readonly database?: Database | undefined
  readonly log: Log
  readonly production: boolean
  /** The maximum number of changes that wait for a subscriber: `limits.events`. */
  readonly events?: number
  /** Default: the system clock. */
  readonly clock?: Clock
  /** The live queries of the application. */
  readonly live?: LiveQueries
  /** Returns instances from the application's container, for resolvers that inject providers. */
  readonly get?: GetProvider
}

/**
 * A GraphQL schema with its endpoints. Declare types in `schema`, and list the instance in `@Module({ graphql: [it]
 * })`.
 */
export class GraphQL {
  /** Declares types, queries, mutations and subscriptions. */
  readonly schema: Schema
  readonly limits: GraphqlLimits
  readonly maxAge: number
  /** Open subscriptions. */
  readonly streams = new OpenStreams()
  /** Whether endpoints accept WebSockets; undefined: if `ws` is installed. */
  readonly sockets: boolean | undefined
  /** The routes of `registerRoute`. */
  readonly routes: GraphQLRoute[] = []
  readonly #options: GraphQLOptions
  readonly #problems = new Problems()
  #only: ReadonlyMap<Class, boolean> | undefined
  #visible: VisibleMembers | undefined
  #insteadOfIntrospection: string | undefined
  /** The access rules of operations that the program runs. */
  #access: DefaultAccess = defaultAccess
  /** Whether queries without another rule require a token, because the application is closed. */
  #isClosed = false
  #host: GraphQLHost | undefined
  #standaloneLive: LiveQueries | undefined
  #executor: Executor | undefined
  #documents: PersistedDocuments | undefined
  #entryOptions: EntryOptions | undefined

  constructor(options: GraphQLOptions = {}) {
    this.#problems.addAll(graphqlOptions.findProblems(options, 'GraphQL'))
    this.#options = { ...options }
    this.limits = limitOptions.read(options.limits)
    this.maxAge = options.maxAge ?? 0
    this.sockets = options.sockets
    const build: BuildSchema = (declarations, problems) => {
      const { classes, added } = declarations
      const { listMax } = this.limits
      const { subscriptions = true, relay = false } = options
      const database = this.#database
      const findDatabase = (): Database | undefined => this.#boundDatabase
      const maxEvents = (): number => this.#host?.events ?? defaultBounds.events
      const now = (): number => this.#host?.clock?.now() ?? Date.now()
      const only = this.#only
      const services = { database, findDatabase, listMax, maxEvents, now, problems, added }
      const context = { ...services, subscriptions, relay, only, visible: this.#visible }
      const generated = classes.size === 0 ? undefined : generateRecords([...classes], context)
      return buildSchema(declarations, generated, problems)
    }
    this.schema = new Schema(build, () => {
      this.#executor = undefined
    })
  }

  /** The schema as text in GraphQL's schema definition language. */
  get sdl(): string {
    this.#problems.throwIfAny()
    return graphqlLibrary().printSchema(this.schema.build().schema)
  }

  /**
   * Describes the schema without descriptions: the root fields and the types of all records, or one record in full with
   * the types that its root fields use.
   *
   * @returns text in GraphQL's schema definition language
   */
  describe(record?: string): string {
    this.#problems.throwIfAny()
    const { schema, recordOfType = new Map<string, string>() } = this.schema.build()
    return describeSchema({ schema, recordOfType }, record)
  }

  /** The messages of the errors in an operation and its variables, without running it. */
  findErrors(
    query: string,
    variables: Readonly<Record<string, unknown>> = {},
    operationName?: string,
  ): readonly string[] {
    const executor = this.executor()
    const operation = executor.find(query, operationName)
    const errors =
      operation instanceof RefusedDocument
        ? operation.errors
        : executor.findVariableErrors(operation, variables)
    return errors.map(({ message }) => message)
  }

  /**
   * Runs a query or a mutation within the limits. Access is checked only if `context` has a `user` or a `request`.
   *
   * @param context the third argument of resolvers
   * @param operationName required if the document has several operations
   * @throws {DeclarationError} if the schema is invalid; errors of the operation are in `errors`
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
   * @returns an iterator of results, or one result with errors
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
    if (operation instanceof RefusedDocument) return toResult(notRun(operation.errors), options)
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
   * Runs the operation of a parsed request body: `query`, `variables`, `operationName`, or `documentId`. For your own
   * routes. Errors of the body are in `errors`.
   */
  async handleRequest(body: unknown, context?: unknown): Promise<GraphQLResult> {
    const executor = this.executor()
    try {
      const requested = readOperationRequest(body, this.documents())
      const operation = executor.find(requested.query, requested.operationName)
      const outcome = await this.#run(operation, requested.variables, context)
      return toResult(outcome, this.entryOptionsOf(context))
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      const { message, code } = error
      return { data: null, errors: [{ message, extensions: { code } }] }
    }
  }

  /**
   * Serves the schema at a path: POST and GET run operations, and GET without an operation returns the IDE. Requires
   * that the instance is listed in `@Module({ graphql: [...] })`.
   */
  registerRoute(path = '/graphql', options: GraphQLRouteOptions = {}): this {
    this.#problems.addAll(graphqlRouteOptions.findProblems(options, `GraphQL at ${path}`))
    const { secured = false, noAuth = false } = options
    const roles = typeof secured === 'string' ? [secured] : secured
    const token = typeof roles === 'boolean' ? tokenAccess : { ...tokenAccess, roles }
    if (secured !== false && noAuth) {
      this.#problems.add({
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
   * Creates an instance that exposes only some records, with the same limits, database and log. Relations to other
   * records do not exist in its schema.
   *
   * @param records by class; true if clients may write the record, as its rules permit
   * @param insteadOfIntrospection the end of the error for introspection, which the instance refuses
   * @param visible what its schema names, such as `await visibleRecords(…)` for one caller. Default: everything
   */
  only(
    records: ReadonlyMap<Class, boolean>,
    insteadOfIntrospection: string,
    visible?: VisibleMembers,
  ): GraphQL {
    const options = { ...this.#options }
    delete options.documents
    // A view of one caller checks operations that another instance runs, so it stores none.
    const cacheBytes = visible === undefined ? {} : { cacheBytes: 0 }
    const limited = new GraphQL({ ...options, ...cacheBytes, subscriptions: false })
    limited.#only = records
    limited.#visible = visible
    limited.#insteadOfIntrospection = insteadOfIntrospection
    for (const type of records.keys()) limited.schema.fromOrm(type)
    limited.#access = this.routes[0]?.access ?? this.#access
    limited.#isClosed = this.#isClosed
    if (this.#host !== undefined) limited.bind(this.#host)
    return limited
  }

  /** Whether anonymous callers may read at least one of its records. */
  get isOpen(): boolean {
    if (!this.accessFor(this.#access).read.open) return false
    return this.schema.records.some(
      (type) => policyOf(this.#database().table(type)).read?.open !== false,
    )
  }

  /** Whether the IDE is served. If queries require a token, only with the option `ide: true`. */
  get ide(): boolean {
    return this.#options.ide ?? !this.#isClosed
  }

  /** The access rules of a route, with a token required for queries if the application is closed. */
  accessFor(access: DefaultAccess): DefaultAccess {
    if (!this.#isClosed || access.write.open || !access.read.open) return access
    return access === defaultAccess ? closedAccess : { ...access, read: tokenAccess }
  }

  /** Whether it requires a database of the application. */
  get needsDatabase(): boolean {
    return this.#options.database === undefined && this.schema.records.length > 0
  }

  /** Connects the instance to the running application. Options of the instance take precedence. */
  bind(host: GraphQLHost): void {
    this.#host = host
    this.schema.resolvers.bind(host.get)
    this.streams.open()
    // They were created without the database and the log of the application.
    this.#entryOptions = this.#executor = undefined
  }

  /**
   * Builds the schema, reads the persisted documents, and reports their problems.
   *
   * @param isClosed true if queries without another rule require a token
   */
  prepare(isClosed: boolean, problems: Problems): void {
    this.#isClosed = isClosed
    problems.addAll(this.#problems.list)
    for (const read of [() => this.schema.build(), () => this.documents()]) {
      try {
        read()
      } catch (error) {
        if (!(error instanceof DeclarationError)) throw error
        problems.addAll(error.problems)
      }
    }
  }

  /** The live queries of the application, or of the instance if it is not in a module. */
  get live(): LiveQueries {
    if (this.#host?.live !== undefined) return this.#host.live
    const { log } = this.entryOptions
    const clock = this.#host?.clock ?? new Clock()
    this.#standaloneLive ??= new LiveQueries({ options: defaultLive, clock, log, watch: undefined })
    return this.#standaloneLive
  }

  /** Whether rules of its records use guards, which may read everything in a request. */
  get usesGuards(): boolean {
    return this.schema.records.some((type) => policyOf(this.#database().table(type)).mayAwaitGuards)
  }

  /** The options for writing and logging errors. */
  get entryOptions(): EntryOptions {
    const { log, maskErrors } = this.#options
    this.#entryOptions ??= Object.freeze({
      mask: maskErrors ?? this.#isProduction,
      log: log ?? this.#host?.log ?? silentLog,
    })
    return this.#entryOptions
  }

  /** The same options with the request of an operation, for the log. */
  entryOptionsOf(context: unknown): EntryOptions {
    const request = requestOf(context)
    return request === undefined ? this.entryOptions : { ...this.entryOptions, request }
  }

  /** The executor. Created again after the schema has changed. */
  executor(): Executor {
    this.#problems.throwIfAny()
    if (this.#executor !== undefined) return this.#executor
    const { limits, streams } = this
    const database = this.#boundDatabase
    this.#executor = new Executor({
      built: this.schema.build(),
      limits,
      cacheBytes: graphqlOptions.read(this.#options).cacheBytes,
      insteadOfIntrospection: this.#insteadOfIntrospection,
      streams,
      graphql: this,
      onRun: createReplicaPolicy(database),
      runWithin: database?.runForRequest.bind(database),
      onPlanningFailure: (failure, operation) => this.#logPlanningFailure(failure, operation),
    })
    return this.#executor
  }

  get #isProduction(): boolean {
    return this.#host?.production ?? process.env.NODE_ENV === 'production'
  }

  /** Elsewhere than in production the field fails, so that tests find the mistake. */
  #logPlanningFailure({ cause }: PlanningFailure, { node }: Operation): boolean {
    const query = hideShapes(clip(graphqlLibrary().print(node)))
    const message = 'GraphQL: the planner failed, so resolvers run the query, which is slower'
    this.entryOptions.log.error({ err: cause, query }, message)
    return this.#isProduction
  }

  documents(): PersistedDocuments {
    if (this.#documents !== undefined) return this.#documents
    const problems = new Problems()
    const documents = readDocuments(this.#options.documents, problems)
    problems.throwIfAny()
    return (this.#documents = documents)
  }

  #run(
    operation: ReturnType<Executor['find']>,
    variables: Readonly<Record<string, unknown>>,
    context: unknown,
  ): MaybePromise<Outcome> {
    if (operation instanceof RefusedDocument) return notRun(operation.errors)
    if (operation.kind === 'subscription') {
      const { GraphQLError } = graphqlLibrary()
      return notRun([new GraphQLError('A subscription is opened with subscribe.')])
    }
    return this.executor().run(operation, variables, context, this.accessFor(this.#access))
  }

  get #boundDatabase(): Database | undefined {
    // `connect` creates it. The public type hides its internal members.
    return (this.#options.database as Database | undefined) ?? this.#host?.database
  }

  readonly #database = (): Database => {
    const database = this.#boundDatabase
    if (database !== undefined) return database
    throw new Error(
      'GraphQL: this instance has no database. Pass new GraphQL({ database }), or list the instance in a module.',
    )
  }
}
