/**
 * Reads the metadata and options of an application into checked, frozen data, in steps: configuration, modules, controllers,
 * endpoints, files, container. Each uses what earlier steps return. No code of the application runs; all problems are
 * collected and reported together.
 */
import { Auth } from '../auth/auth.js'
import { explainOtherCopies } from '../errors/copies.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { Clock } from '../core/time.js'
import type { Log } from '../core/log.js'
import { PublicUrl } from './public-url.js'
import { resolveClass, type Class, isClass } from '../metadata/class.js'
import { findOtherCopyOf } from '../metadata/dialect.js'
import type { ReadDocument } from '../openapi/docs-files.js'
import type { CorsHeaders } from '../http/cors.js'
import { Database } from '../records/database.js'
import { packageFor } from '../engines/engine-for-url.js'
import { readTables } from '../records/model/read-table.js'
import { findDuplicateTokens } from '../records/one-time.js'
import { reportPolicy } from '../records/rights/record-policy.js'
import { readController } from '../routing/decorators.js'
import { scriptRoutes, staticRoutes, type FolderRoute } from './static-files.js'
import { forOwnRoutes, planApplicationUse, interceptorClasses } from './plan-interceptors.js'
import { findUnknownVariables, provideConfigs } from './config-classes.js'
import { readConfiguration, type Configuration, type StartHooks } from './configuration.js'
import { createContainer, type Container } from './container.js'
import { withCrudRoutes } from './crud-controllers.js'
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
import { LateDatabase } from './late-database.js'
import { findRenamedClasses } from './renamed-classes.js'
import { findMissingPackages } from './start-checks.js'
import { collectParts, type ModuleParts, type StartConditions } from './module.js'
import { versionHeaders } from './versions.js'
import type { BootstrapOptions, Settings } from './options.js'
import { ApplicationState } from '../serving/application-state.js'
import type { PlannedInterceptor } from '../serving/interceptors.js'
import type { FrameworkRoute } from '../serving/framework-route.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import { Routes } from '../serving/routes.js'
import { checkRoles } from './role-checks.js'
import { planRoutes } from './plan-routes.js'
import { describeRoutes } from './describe-routes.js'
import { documentedRecords } from './public-access.js'
import type { ProviderDeclaration } from './provider.js'

interface PlannedControllers {
  /** With the routes of their records. */
  readonly controllers: readonly Class[]
  readonly routes: readonly PlannedRoute[]
  /** Interceptors around requests without a route and around the framework's own routes. */
  readonly frameworkInterceptors: readonly PlannedInterceptor[]
  /** The database of the routes of records, set at the start. */
  readonly database: LateDatabase
}

interface PlannedEndpoints {
  readonly graphql: PlannedGraphql
  /** Custom decorators on its root fields. */
  readonly graphqlInterceptors: GraphqlInterceptors
}

interface PlannedFiles {
  readonly folders: readonly FrameworkRoute[]
  /** The files of static folders. */
  readonly files: readonly FolderRoute[]
}

interface PlannedContainer {
  readonly container: Container
  /** Every class that the container creates, once. */
  readonly classes: readonly Class[]
  /** Unknown variables of settings, which are a warning. */
  readonly unknownVariables: readonly Problem[]
}

export interface ApplicationPlan
  extends
    Configuration,
    PlannedControllers,
    PlannedEndpoints,
    PlannedFiles,
    Pick<PlannedContainer, 'container'> {
  /** Writes the document when it is first requested. */
  readonly document: ReadDocument
  readonly records: readonly Class[]
  /** The records that only packages list, such as those of jobs. */
  readonly packageRecords: readonly Class[]
  readonly modules: readonly Class[]
  /** Headers of modules and of versions that pages of other origins need. */
  readonly corsHeaders: readonly CorsHeaders[]
  readonly providers: readonly ProviderDeclaration[]
  /** True if something needs the database: a provider, a controller of a record, or a route with a transaction. */
  readonly needsDatabase: boolean
  /** Runs the checks of packages in the database, for `filigree doctor`. */
  readonly examine: (database: Database) => Promise<readonly string[]>
  /** True if `currentRequest()` also works after an `await`. */
  readonly requestContext: boolean
}

/**
 * @param hooks only for an application that will start: then config classes are read, and warnings are logged
 * @throws {DeclarationError} with every problem
 */
export async function planApplication(
  module: Class,
  options: BootstrapOptions,
  hooks?: StartHooks,
): Promise<ApplicationPlan> {
  const problems = new Problems()
  const configuration = await readConfiguration(options, hooks, problems)
  const parts = collectParts(module, problems)
  for (const table of readTables(parts.records, problems)) reportPolicy(table, problems)
  const controllerPlan = planControllers(configuration, parts, problems)
  const endpoints = planEndpoints(configuration, parts, options.graphql, problems)
  const files = planFiles(configuration, problems)
  const willStart = hooks !== undefined
  const { container, classes, unknownVariables } = await planContainer(
    { ...configuration, ...controllerPlan, ...endpoints, readsConfigs: willStart },
    parts,
    problems,
  )
  const conditions = toConditions(configuration, options)
  checkPublicUrl(configuration, container, conditions, problems)
  checkClasses(classes, parts, conditions, problems)
  const { routes } = controllerPlan
  const { authOptions, settings } = configuration
  checkRoles(authOptions.roles, { routes, ...endpoints, docs: settings.docs, parts }, problems)
  const missingPackages = await checkPackages(configuration, parts, options, problems)
  if (problems.count === 0) checkRoutes(routes, parts, problems)
  if (problems.count > 0) throw new DeclarationError(explainOtherCopies(problems.list))

  if (willStart) {
    const renamed = findRenamedClasses({ classes, routes, records: parts.records })
    logWarnings(configuration.log, [...unknownVariables, ...missingPackages, ...renamed])
  }
  return {
    ...configuration,
    ...controllerPlan,
    ...endpoints,
    ...files,
    container,
    document: planDocument({ ...configuration, ...controllerPlan, ...endpoints }),
    records: withGraphqlRecords(parts.records, endpoints.graphql),
    packageRecords: parts.records.filter((record) => !parts.ownRecords.includes(record)),
    modules: parts.modules,
    corsHeaders: [...parts.corsHeaders, { allowedHeaders: requestHeaders(configuration) }],
    providers: parts.providers,
    requestContext: options.requestContext ?? parts.requestContext,
    needsDatabase: needsDatabase(controllerPlan, container),
    examine: async (openDatabase) => {
      const findings = parts.examinations.map((examine) => examine(openDatabase, classes))
      return (await Promise.all(findings)).flat()
    },
  }
}

/** Plans the routes of controllers, with those of their records, and the interceptors around them. */
function planControllers(
  { settings, authOptions, clock }: Configuration,
  parts: ModuleParts,
  problems: Problems,
): PlannedControllers {
  const database = new LateDatabase()
  const declared = withCrudRoutes(parts, () => database.get(), settings.limits.cost, problems)
  const { everywhere, aroundFramework } = planApplicationUse(settings, parts, problems)
  const routes = planRoutes(
    declared.map(({ controller, original }) => ({
      controller,
      use: [...everywhere, ...forOwnRoutes(parts.use.get(original) ?? [])],
    })),
    { ...settings, closed: authOptions.closed, clock },
    parts.arguments,
    problems,
  )
  findDocumentationProblems(routes, settings.docs, problems)
  const controllers = declared.map(({ controller }) => controller)
  return { controllers, routes, frameworkInterceptors: aroundFramework, database }
}

/** Plans the endpoints of GraphQL, and builds their schemas. */
function planEndpoints(
  { settings, authOptions }: Configuration,
  parts: ModuleParts,
  option: BootstrapOptions['graphql'],
  problems: Problems,
): PlannedEndpoints {
  const graphql = planGraphql(parts, option, settings.limits.cost, problems)
  prepareGraphql(graphql, authOptions.closed, problems)
  return { graphql, graphqlInterceptors: planGraphqlInterceptors(graphql.instances, problems) }
}

/** Plans the routes of static folders and of the browser client. */
function planFiles({ settings }: Configuration, problems: Problems): PlannedFiles {
  const { client, times, basePath } = settings
  const { pages, files } = staticRoutes(settings, problems)
  return { files, folders: [...pages, ...scriptRoutes(client, times.handler, problems, basePath)] }
}

interface ContainerInput extends Configuration, PlannedControllers, PlannedEndpoints {
  readonly readsConfigs: boolean
}

/** Plans all instances: providers, controllers and interceptors. */
async function planContainer(
  input: ContainerInput,
  { name: moduleName, providers: declared }: ModuleParts,
  problems: Problems,
): Promise<PlannedContainer> {
  const { controllers, routes, frameworkInterceptors, graphql, graphqlInterceptors } = input
  const { override } = input.settings
  const { variables } = input.environment
  const interceptors = interceptorClasses([
    ...routes.flatMap((route) => route.interceptors),
    ...frameworkInterceptors,
    ...listGraphqlInterceptors(graphqlInterceptors),
  ])
  const providers = await provideConfigs(
    [...declared, ...graphql.instances.flatMap(({ schema }) => schema.resolvers.providers)],
    [...controllers, ...interceptors],
    { variables: input.readsConfigs ? variables : undefined, override },
    problems,
  )
  const builtIn = [Auth, Clock, Database, ApplicationState, PublicUrl, Routes]
  const creation = { moduleName, providers, controllers, interceptors, override, builtIn }
  return {
    container: createContainer(creation, problems),
    classes: listClasses({ providers, controllers, interceptors, override }),
    unknownVariables: input.readsConfigs ? findUnknownVariables(variables, providers) : [],
  }
}

function toConditions(
  { environment, authOptions, clock }: Configuration,
  { publicUrl }: BootstrapOptions,
): StartConditions {
  const { keys } = authOptions
  const configuredUrl = publicUrl ?? environment.variables.PUBLIC_URL
  return {
    production: environment.production && !clock.isMoved,
    canSign: keys.from === 'folder' || (keys.from === 'given' && keys.private !== undefined),
    publicUrl: configuredUrl === '' ? undefined : configuredUrl,
  }
}

/** Checks the classes, also by the checks of modules. */
function checkClasses(
  classes: readonly Class[],
  { checks }: ModuleParts,
  conditions: StartConditions,
  problems: Problems,
): void {
  problems.addAll(classes.flatMap((type) => findOtherCopyOf(type) ?? []))
  problems.addAll(findDuplicateTokens(classes))
  for (const check of checks) problems.addAll(check(classes, conditions))
}

/** Runs the checks of modules that depend on the routes of the whole application. */
function checkRoutes(
  planned: readonly PlannedRoute[],
  { routeChecks }: ModuleParts,
  problems: Problems,
): void {
  if (routeChecks.length === 0) return
  const routes = describeRoutes(planned)
  for (const check of routeChecks) problems.addAll(check(routes))
}

/** @returns missing packages, which are problems in production and warnings elsewhere */
async function checkPackages(
  { environment: { production, databaseUrl } }: Configuration,
  parts: ModuleParts,
  options: BootstrapOptions,
  problems: Problems,
): Promise<readonly Problem[]> {
  const database = typeof options.database === 'string' ? options.database : databaseUrl
  const packages = [...parts.packages, packageFor(database ?? '') ?? []].flat()
  const missingPackages = await findMissingPackages(packages, { loads: production })
  if (production) problems.addAll(missingPackages)
  return missingPackages
}

/** Writes the document when it is first requested. */
function planDocument(
  input: Configuration & Pick<PlannedControllers, 'routes'> & PlannedEndpoints,
): ReadDocument {
  const { routes, settings, authOptions, cookieNames, graphql } = input
  return documentReader({
    routes,
    settings,
    auth: { ...authOptions, cookieNames },
    endpoints: documentedEndpoints(graphql),
    records: () => documentedRecords({ routes, graphql }),
  })
}

function needsDatabase({ controllers, routes }: PlannedControllers, container: Container): boolean {
  return (
    container.isNeeded(Database) ||
    controllers.some((controller) => readController(controller)?.crud !== undefined) ||
    routes.some(usesDatabase)
  )
}

interface ClassSources {
  readonly providers: readonly ProviderDeclaration[]
  readonly controllers: readonly Class[]
  readonly interceptors: readonly Class[]
  readonly override: Settings['override']
}

function listClasses({ providers, controllers, interceptors, override }: ClassSources): Class[] {
  return [
    ...new Set([
      ...providers.flatMap(classOf),
      ...controllers,
      ...interceptors,
      ...override.flatMap(([, replacement]) => classOfValue(replacement)),
    ]),
  ]
}

function logWarnings(log: Log, warnings: readonly Problem[]): void {
  for (const { code, message, remedy } of warnings) log.warn({ code }, `${message} ${remedy}`)
}

function usesDatabase({ route, interceptors }: PlannedRoute): boolean {
  return (route.options.transaction ?? false) !== false || interceptors.some(injectsDatabase)
}

/** Headers that pages of other origins send: of versions, and of `auth.read`, to sign in. */
function requestHeaders({ settings, authOptions }: Configuration): readonly string[] {
  const { location } = authOptions.source
  const isCustom = location?.in === 'header' && location.name !== 'authorization'
  return [...versionHeaders(settings.versions), ...(isCustom ? [location.name] : [])]
}

/** The default address is loopback, and links to it work only on this machine. */
function checkPublicUrl(
  { environment: { production } }: Configuration,
  container: Container,
  { publicUrl }: StartConditions,
  problems: Problems,
): void {
  if (!production || publicUrl !== undefined) return
  const names = container.dependentsOf(PublicUrl)
  if (names.length === 0) return
  problems.add({
    code: 'PUBLIC_URL_MISSING',
    message: `Production has no public address, and ${names.join(', ')} needs it.`,
    remedy:
      "Set PUBLIC_URL to the address that people type, or write bootstrap(AppModule, { publicUrl: 'https://desk.example' }).",
  })
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

function injectsDatabase(interceptor: PlannedInterceptor): boolean {
  return 'inject' in interceptor && interceptor.inject.includes(Database)
}

/** Adds records that only a schema uses: their tables are in the application's database, too. */
function withGraphqlRecords(records: readonly Class[], { instances }: PlannedGraphql): Class[] {
  const withDatabase = instances.filter(({ needsDatabase }) => needsDatabase)
  return [...new Set([...records, ...withDatabase.flatMap(({ schema }) => schema.records)])]
}
