/**
 * Reads the metadata and options of an application into checked, frozen data. No code of the application runs; all
 * problems are collected and reported together.
 */
import { Auth } from '../auth/auth.js'
import { addressSuffix, CookieNames, portSuffix } from '../http/cookies.js'
import { resolveAuthOptions, type ResolvedAuthOptions } from '../auth/options.js'
import { explainOtherCopies } from '../errors/copies.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { Clock } from '../core/time.js'
import type { Log } from '../core/log.js'
import { PublicUrl } from './public-url.js'
import { resolveClass, type Class } from '../metadata/class-metadata.js'
import { findOtherCopyOf, isClass } from '../metadata/dialect.js'
import type { ReadDocument } from '../openapi/docs-files.js'
import type { CorsHeaders } from '../http/cors.js'
import { extendWithCrud, type CrudOperation } from '../records/rest/crud.js'
import { Database } from '../records/database.js'
import { packageFor } from '../engines/engine-for-url.js'
import { readTables } from '../records/model/read-table.js'
import { reportPolicy } from '../records/rights/record-policy.js'
import { readController } from '../routing/decorators.js'
import { scriptRoutes, staticRoutes, type FolderRoute } from './static-files.js'
import { forOwnRoutes, planApplicationUse, interceptorClasses } from './plan-interceptors.js'
import {
  findUnknownVariables,
  provideConfigs,
  readEnvironment,
  type Environment,
} from './environment.js'
import { createContainer, type Container } from './container.js'
import { documentReader, findDocumentationProblems } from './docs-routes.js'
import {
  documentedEndpoints,
  planGraphql,
  prepareGraphql,
  type PlannedGraphql,
  listGraphqlInterceptors,
  planGraphqlInterceptors,
  type GraphqlInterceptors,
} from './graphql-routes.js'
import { developmentHostOf } from './cli-hooks.js'
import { createLog } from './logger.js'
import { Redactor } from '../serving/redaction/redactor.js'
import { findRenamedClasses } from './renamed-classes.js'
import { findMissingPackages } from './start-checks.js'
import { collectParts, type Parts } from './module.js'
import { versionHeaders } from './versions.js'
import { resolveOptions, type BootstrapOptions, type Settings } from './options.js'
import { ApplicationState } from '../serving/application-state.js'
import type { PlannedInterceptor } from '../serving/interceptors.js'
import type { FrameworkRoute, PlannedRoute } from '../serving/served-route.js'
import { Routes } from '../serving/routes.js'
import { planRoutes } from './plan-routes.js'
import { documentedRecords } from './public-access.js'
import type { ProviderDeclaration } from './provider.js'

export interface ApplicationPlan {
  readonly environment: Environment
  readonly settings: Settings
  readonly authOptions: ResolvedAuthOptions
  readonly cookieNames: CookieNames
  readonly log: Log
  /** Removes secrets from the errors in the log. */
  readonly redactor: Redactor
  readonly clock: Clock
  readonly routes: readonly PlannedRoute[]
  /** Interceptors around requests without a route and around the framework's own routes. */
  readonly frameworkInterceptors: readonly PlannedInterceptor[]
  readonly folders: readonly FrameworkRoute[]
  /** The files of static folders. */
  readonly files: readonly FolderRoute[]
  /** Writes the document when it is first requested. */
  readonly document: ReadDocument
  readonly records: readonly Class[]
  readonly modules: readonly Class[]
  /** Headers of modules and of versions that pages of other origins need. */
  readonly corsHeaders: readonly CorsHeaders[]
  readonly providers: readonly ProviderDeclaration[]
  /** True if something needs the database: a provider, a controller of a record, or a route with a transaction. */
  readonly needsDatabase: boolean
  readonly graphql: PlannedGraphql
  /** Custom decorators on its root fields. */
  readonly graphqlInterceptors: GraphqlInterceptors
  readonly container: Container
  /** Runs the checks of packages in the database, for `filigree doctor`. */
  readonly examine: (database: Database) => Promise<readonly string[]>
  /** True if `currentRequest()` also works after an `await`. */
  readonly requestContext: boolean
}

/**
 * @param starts true if the application will be started: only then its settings are read
 * @throws {DeclarationError} with every problem
 */
export async function planApplication(
  module: Class,
  options: BootstrapOptions,
  starts = false,
): Promise<ApplicationPlan> {
  const problems = new Problems()
  const environment = readEnvironment(options.env ?? process.env, problems)
  const { production, variables } = environment
  const settings = resolveOptions(options, environment, problems)
  const authOptions = resolveAuthOptions(options.auth, variables, problems)
  const { closed } = authOptions
  const cookieNames = createCookieNames(settings, { authOptions, options, production }, problems)
  const redactor = new Redactor(variables)
  const baseLog = await createLog(options.logger, environment.logLevel, redactor)
  const log = (starts ? developmentHostOf(environment)?.watchLog(baseLog) : undefined) ?? baseLog
  const clock = clockOf(settings)

  const parts = collectParts(module, problems)
  for (const table of readTables(parts.records, problems)) reportPolicy(table, problems)
  const { cost } = settings.limits
  // The routes of records are declared before the container exists, so they get the database at their first request.
  let found: Database | undefined
  const findDatabase = (): Database => (found ??= container.get(Database))
  const declared = withCrudRoutes(parts, findDatabase, cost, problems)
  const controllers = declared.map(({ controller }) => controller)
  const around = planApplicationUse(settings, parts, problems)
  const routes = planRoutes(
    declared.map(({ controller, origin }) => ({
      controller,
      use: [...around.outside, ...forOwnRoutes(parts.use.get(origin) ?? [])],
    })),
    { ...settings, closed, clock },
    parts.arguments,
    problems,
  )
  findDocumentationProblems(routes, settings.docs, problems)

  const graphql = planGraphql(parts, options.graphql, cost, problems)
  prepareGraphql(graphql, { log, production, closed }, problems)
  const graphqlInterceptors = planGraphqlInterceptors(graphql.instances, problems)

  const { pages, files } = staticRoutes(settings, problems)
  const scripts = scriptRoutes(settings.client, settings.times.handler, problems, settings.basePath)

  const interceptors = interceptorClasses([
    ...routes.flatMap((route) => route.interceptors),
    ...around.framework,
    ...listGraphqlInterceptors(graphqlInterceptors),
  ])
  const providers = await provideConfigs(
    [...parts.providers, ...graphql.instances.flatMap(({ schema }) => schema.resolvers.providers)],
    [...controllers, ...interceptors],
    { variables: starts ? variables : undefined, override: settings.override },
    problems,
  )
  const container: Container = createContainer(
    {
      moduleName: parts.name,
      providers,
      controllers,
      interceptors,
      override: settings.override,
      builtIn: [Auth, Clock, Database, ApplicationState, PublicUrl, Routes],
    },
    problems,
  )
  if (production && (options.publicUrl ?? variables.PUBLIC_URL ?? '') === '')
    problems.addAll(findUnknownAddress(container))

  const classes = listClasses({ providers, controllers, interceptors, settings })
  problems.addAll(classes.flatMap((type) => findOtherCopyOf(type) ?? []))
  for (const check of parts.checks) problems.addAll(check(classes))
  const database = typeof options.database === 'string' ? options.database : environment.databaseUrl
  const packages = [...parts.packages, packageFor(database ?? '') ?? []].flat()
  const missing = await findMissingPackages(packages, { loads: production })
  if (production) problems.addAll(missing)

  if (problems.count > 0) throw new DeclarationError(explainOtherCopies(problems.list))
  if (starts)
    logWarnings(log, [
      ...findUnknownVariables(variables, providers),
      ...missing,
      ...findRenamedClasses({ classes, records: parts.records, routes }),
    ])
  return {
    environment,
    settings,
    authOptions,
    cookieNames,
    log,
    redactor,
    clock,
    routes,
    files,
    container,
    graphql,
    graphqlInterceptors,
    frameworkInterceptors: around.framework,
    folders: [...pages, ...scripts],
    document: documentReader(
      routes,
      settings,
      { ...authOptions, cookieNames },
      documentedEndpoints(graphql),
      () => documentedRecords({ routes, graphql }),
    ),
    records: withGraphqlRecords(parts.records, graphql),
    modules: parts.modules,
    corsHeaders: [
      ...parts.corsHeaders,
      { allowedHeaders: [...versionHeaders(settings.versions), ...tokenHeaders(authOptions)] },
    ],
    providers: parts.providers,
    requestContext: options.requestContext ?? parts.requestContext,
    needsDatabase:
      container.needs(Database) ||
      controllers.some((controller) => readController(controller)?.crud !== undefined) ||
      routes.some(usesDatabase),
    examine: async (openDatabase) => {
      const findings = parts.examinations.map((examine) => examine(openDatabase, classes))
      return (await Promise.all(findings)).flat()
    },
  }
}

interface ClassSources {
  readonly providers: readonly ProviderDeclaration[]
  readonly controllers: readonly Class[]
  readonly interceptors: readonly Class[]
  readonly settings: Settings
}

/** Every class of the application that the container creates, once. */
function listClasses({ providers, controllers, interceptors, settings }: ClassSources): Class[] {
  return [
    ...new Set([
      ...providers.flatMap(classOf),
      ...controllers,
      ...interceptors,
      ...settings.override.flatMap(([, replacement]) => classOfValue(replacement)),
    ]),
  ]
}

function logWarnings(log: Log, warnings: readonly Problem[]): void {
  for (const { code, message, remedy } of warnings) log.warn({ code }, `${message} ${remedy}`)
}

function usesDatabase({ route, interceptors }: PlannedRoute): boolean {
  return (route.options.transaction ?? false) !== false || interceptors.some(injectsDatabase)
}

/** The header of `auth.read`: pages of other origins need it to sign in. */
function tokenHeaders({ source: { location } }: ResolvedAuthOptions): readonly string[] {
  return location?.in === 'header' && location.name !== 'authorization' ? [location.name] : []
}

/** The default address is loopback, and links to it work only on this machine. */
function findUnknownAddress(container: Container): Problem[] {
  const names = container.dependentsOf(PublicUrl)
  if (names.length === 0) return []
  return [
    {
      code: 'PUBLIC_URL_MISSING',
      message: `Production has no public address, and ${names.join(', ')} needs it.`,
      remedy:
        "Set PUBLIC_URL to the address that people type, or write bootstrap(AppModule, { publicUrl: 'https://desk.example' }).",
    },
  ]
}

/** The class of a provider's instances, by its token or by its value. */
function classOf(declaration: ProviderDeclaration): readonly Class[] {
  if (typeof declaration === 'function') return [resolveClass(declaration) ?? []].flat()
  if (isClass(declaration.provide)) return [declaration.provide]
  return 'use' in declaration ? classOfValue(declaration.use) : []
}

function classOfValue(value: unknown): readonly Class[] {
  if (isClass(value)) return [value]
  const type: unknown = typeof value === 'object' ? value?.constructor : undefined
  return isClass(type) ? [type] : []
}

/** The system clock, unless `override` replaces it. It is needed before the providers are created. */
function clockOf({ override }: Settings): Clock {
  const replaced = override.findLast(([token]) => token === Clock)
  return replaced === undefined ? new Clock() : (replaced[1] as Clock)
}

function injectsDatabase(interceptor: PlannedInterceptor): boolean {
  return 'inject' in interceptor && interceptor.inject.includes(Database)
}

/** Adds records that only a schema uses: their tables are in the application's database, too. */
function withGraphqlRecords(records: readonly Class[], { instances }: PlannedGraphql): Class[] {
  const withDatabase = instances.filter(({ needsDatabase }) => needsDatabase)
  return [...new Set([...records, ...withDatabase.flatMap(({ schema }) => schema.records)])]
}

/** Gives `@Controller('/items', { crud: Item })` the routes of its record, in a class that extends it. */
function withCrudRoutes(
  parts: Parts,
  database: () => Database,
  maxCost: number,
  problems: Problems,
): { readonly controller: Class; readonly origin: Class }[] {
  return parts.controllers.map((origin) => {
    const { crud, only } = readController(origin) ?? {}
    if (crud === undefined) return { controller: origin, origin }
    checkListed(origin, resolveClass(crud), parts, problems)
    const operations = only as readonly CrudOperation[] | undefined
    const options = operations === undefined ? { crud } : { crud, only: operations }
    return { controller: extendWithCrud(origin, options, database, problems, maxCost), origin }
  })
}

function checkListed(
  controller: Class,
  record: Class | undefined,
  { name, records }: Parts,
  problems: Problems,
): void {
  if (record === undefined || records.includes(record)) return
  problems.add({
    code: 'CRUD_RECORD',
    message: `${controller.name}: crud names ${record.name}, which no module lists among its records.`,
    remedy: `Add ${record.name} to ${name}.records.`,
  })
}

/** The names are complete once the port is known. */
function createCookieNames(
  { publicUrl, basePath, listen, port }: Settings,
  {
    authOptions,
    options,
    production,
  }: {
    readonly authOptions: ResolvedAuthOptions
    readonly options: BootstrapOptions
    readonly production: boolean
  },
  problems: Problems,
): CookieNames {
  const session = options.sessions?.cookie
  const { cookieName: token } = authOptions
  const names = new CookieNames({ token, session })
  if (names.token === names.session)
    problems.add({
      code: 'INVALID_OPTION',
      message: `bootstrap sessions.cookie: ${names.session} is also the name of the token's cookie.`,
      remedy: 'Choose another name.',
    })
  if (production) names.suffix = addressSuffix(publicUrl, basePath)
  else if (listen && port !== 0) names.suffix = portSuffix(port)
  return names
}
