/**
 * `@Module` and `createModule`. Collects the parts of all imported modules, and decides which module's `use` applies to
 * which routes.
 */

import { type Class, resolveClass, type ClassReference, isClass } from '../metadata/class.js'
import { createClassMetadata } from '../metadata/class-metadata.js'
import type { NamedRoles } from '../auth/role-list.js'
import { type Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import type { MissingPackage } from '../errors/missing-package.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { GraphQL } from '../graphql/graphql.js'
import { findCorsHeaderProblems, type CorsHeaders } from '../http/cors.js'
import { toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import { rememberListed } from '../metadata/listed-classes.js'
import type { Database } from '../records/public-database.js'
import type { DescribedRoutes } from '../serving/routes.js'
import type { EntryInterceptor, Interceptor } from '../extensions/interceptor.js'
import {
  collectArguments,
  type DeclaredArguments,
  type ArgumentResolvers,
  type ArgumentResolver,
} from '../extensions/argument-resolvers.js'
import type { ProviderDeclaration } from './provider.js'

/**
 * Makes a function that returns a module. Each call returns a new module; if one is imported in several places, it
 * counts once.
 *
 * @param make gives the options of `@Module`, from the options of the package
 */
export function createModule<Arguments extends readonly unknown[]>(
  make: (...args: Arguments) => ModuleOptions,
): (...args: Arguments) => Class {
  return (...args) => {
    const options: unknown = make(...args)
    if (typeof options !== 'object' || options === null) {
      throw new TypeError(
        'createModule: the function does not return a module. Return { providers, use, … }.',
      )
    }
    const Package = class {}
    const { name } = make
    Object.defineProperty(Package, 'name', { value: name === '' ? 'createModule' : name })
    writePackage(Package, options)
    return Package
  }
}

const moduleOptions = declareOptions({
  /** Classes with `@Controller`, whose routes are served. */
  controllers: option.any<readonly ClassReference[]>(),
  /** Values and classes that constructors may ask for. Each is created once. */
  providers: option.any<readonly ProviderDeclaration[]>(),
  /** Classes with `@Record`: tables, GraphQL types and operations are made for them. */
  records: option.any<readonly ClassReference[]>(),
  /** Instances with their own schemas; they need `registerRoute`. */
  graphql: option.any<readonly GraphQL[]>(),
  /** Other modules whose controllers and providers belong to the application too. */
  imports: option.any<readonly ClassReference[]>(),
  /** Interceptors around every route of this module and of the modules that it imports; the first one is outermost. */
  use: option.any<readonly ClassReference<Interceptor | EntryInterceptor>[]>(),
  /** Problems in the options of a package; they are added to the report at the start. */
  problems: option.any<readonly Problem<string>[]>(),
  /**
   * Finds problems in the complete list of classes (providers, controllers, interceptors), such as two classes with the
   * same name, and in what the environment lacks. Called before anything is created, at the start and by
   * `filigree doctor`.
   */
  check:
    option.any<
      (providers: readonly Class[], conditions: StartConditions) => readonly Problem<string>[]
    >(),
  /**
   * Finds problems in the application's routes, such as an option that names a route that does not exist. Called if the
   * declarations have no other problems, at the start and by `filigree doctor`.
   */
  checkRoutes: option.any<(routes: DescribedRoutes) => readonly Problem<string>[]>(),
  /**
   * Packages that this module needs as it is configured, and that applications install themselves. A missing package stops
   * the start in production, and is a warning elsewhere.
   */
  packages: option.any<readonly MissingPackage[]>(),
  /** Finds problems of the database for this application, for `filigree doctor`. */
  examine:
    option.any<(database: Database, providers: readonly Class[]) => Promise<readonly string[]>>(),
  /** The roles that the options of a package name. With `auth: { roles }`, one that is not listed stops the start. */
  roles: option.any<readonly string[]>(),
  /** Headers of this module that pages of other origins may send and read: `{ allowedHeaders: ['X-Trace'] }`. */
  cors: option.any<CorsHeaders>(),
  /** Arguments that handlers of the whole application may name: `{ tenant: (request) => … }`. */
  arguments: option.any<Readonly<Record<string, ArgumentResolver>>>(),
  /**
   * True if code of this module calls `currentRequest()` behind an `await`: the application then follows requests
   * through promises, at a tenth to a quarter of a small route's throughput. `bootstrap` may override it.
   */
  requestContext: option.flag(),
})

export interface ModuleOptions extends OptionsOf<typeof moduleOptions> {}

/** What the checks of modules depend on besides classes. */
export interface StartConditions {
  /** False in tests that move the time. */
  readonly production: boolean
  /** Whether the application can issue tokens. */
  readonly canSign: boolean
  /** The configured public address, if there is one. */
  readonly publicUrl: string | undefined
}

/** The interceptors of a `use` list, and the owner of the list. */
export interface UseList {
  /** `bootstrap` or `AppModule`. */
  readonly where: string
  readonly use: readonly (ClassReference<Interceptor | EntryInterceptor> | undefined)[]
}

/** The parts of a module and of all modules that it imports, without repetition. */
export interface ModuleParts {
  /** All modules; packages are named after their functions. */
  readonly modules: readonly Class[]
  /** The name of the root module, for messages. */
  readonly name: string
  readonly controllers: readonly Class[]
  readonly records: readonly Class[]
  /** Records that modules of the application list. Records that only packages list are not in GraphQL. */
  readonly ownRecords: readonly Class[]
  readonly providers: readonly ProviderDeclaration[]
  readonly graphql: readonly GraphQL[]
  /** The interceptors around all routes of a controller, from outside to inside. */
  readonly use: ReadonlyMap<Class, readonly UseList[]>
  /** The interceptors of all modules. */
  readonly useLists: readonly UseList[]
  readonly arguments: ArgumentResolvers
  /** The `cors` of each module. */
  readonly corsHeaders: readonly CorsHeaders[]
  /** The `check` of each module. */
  readonly checks: readonly NonNullable<ModuleOptions['check']>[]
  readonly routeChecks: readonly NonNullable<ModuleOptions['checkRoutes']>[]
  /** The `roles` of each module. */
  readonly namedRoles: readonly NamedRoles[]
  /** The `packages` of all modules. */
  readonly packages: readonly MissingPackage[]
  /** The `examine` of each module. */
  readonly examinations: readonly NonNullable<ModuleOptions['examine']>[]
  /** True if a module sets `requestContext`. */
  readonly requestContext: boolean
}

const moduleMetadata = createClassMetadata<ModuleOptions>('module')

/** Declares the parts of an application: `bootstrap(AppModule)` starts with such a class. */
export function Module(options: ModuleOptions = {}): AnyDecorator {
  return toDecorator(({ owner }) => {
    declareModule(owner, options)
  })
}

function declareModule(owner: Class, options: ModuleOptions): void {
  moduleMetadata.write(owner, options)
  for (const list of [options.providers, options.controllers, options.use] as unknown[])
    if (Array.isArray(list)) rememberListed(list)
}

const packages = createClassMetadata<true>('package')

/** Stores the options of a module that `createModule` made. */
function writePackage(owner: Class, options: ModuleOptions): void {
  declareModule(owner, options)
  packages.write(owner, true)
  for (const controller of options.controllers ?? []) {
    const type = resolveClass(controller)
    if (type !== undefined) packages.write(type, true)
  }
}

/** True for controllers of packages, which applications cannot import. */
export function isOfPackage(controller: Class): boolean {
  return packages.read(controller) === true
}

/** True for a class with its own `@Module`. */
export function isModule(type: Class): boolean {
  return moduleMetadata.readOwn(type) !== undefined
}

/** Collects the parts of a module and of all modules that it imports. A module that is imported twice counts once. */
export function collectParts(root: Class, problems: Problems): ModuleParts {
  const collector = new PartsCollector(problems)
  // Programs without types, and import cycles, may pass something else.
  const rootModule: unknown = root
  if (isClass(rootModule)) {
    collector.visit(rootModule)
    return collector.toParts(rootModule)
  }
  problems.add(invalidModule(rootModule))
  return collector.toParts(undefined)
}

class PartsCollector {
  readonly #problems: Problems
  readonly #visited = new Set<Class>()
  readonly #modules = new Map<Class, ModuleNode>()
  readonly #controllers = new Set<Class>()
  readonly #records = new Set<Class>()
  readonly #ownRecords = new Set<Class>()
  readonly #providers = new Set<ProviderDeclaration>()
  readonly #graphql = new Set<GraphQL>()
  readonly #arguments: DeclaredArguments[] = []
  readonly #checks: NonNullable<ModuleOptions['check']>[] = []
  readonly #routeChecks: NonNullable<ModuleOptions['checkRoutes']>[] = []
  readonly #namedRoles: NamedRoles[] = []
  readonly #packages: MissingPackage[] = []
  readonly #examinations: NonNullable<ModuleOptions['examine']>[] = []
  readonly #corsHeaders: CorsHeaders[] = []
  #requestContext = false

  constructor(problems: Problems) {
    this.#problems = problems
  }

  /** Adds the parts of the modules that this module imports, then its own parts. */
  visit(module: Class): void {
    if (this.#visited.has(module)) return
    this.#visited.add(module)
    const options = moduleMetadata.readOwn(module)
    if (options === undefined) {
      this.#problems.add({
        code: 'NOT_A_MODULE',
        message: `${module.name} is used as a module but has no @Module.`,
        remedy: `Write @Module({ … }) before class ${module.name}.`,
      })
      return
    }
    this.#problems.addAll(moduleOptions.findProblems(options, `@Module of ${module.name}`))
    this.#problems.addAll(options.problems ?? [])
    const imports = resolveList(module, 'imports', options.imports, this.#problems)
    for (const imported of imports) this.visit(imported)
    this.#addLists(module, options, imports)
    this.#addOptions(module, options)
  }

  #addLists(module: Class, options: ModuleOptions, imports: readonly Class[]): void {
    const problems = this.#problems
    const isPackage = packages.readOwn(module) === true
    for (const provider of readList(`${module.name}.providers`, options.providers, problems))
      this.#providers.add(provider)
    for (const instance of readInstances(module, options, problems)) this.#graphql.add(instance)
    for (const record of resolveList(module, 'records', options.records, problems)) {
      this.#records.add(record)
      if (!isPackage) this.#ownRecords.add(record)
    }
    const controllers = resolveList(module, 'controllers', options.controllers, problems)
    for (const controller of controllers) this.#controllers.add(controller)
    const use = readList(`${module.name}.use`, options.use, problems)
    this.#modules.set(module, {
      imports,
      controllers,
      isPackage,
      use: { where: `@Module of ${module.name}`, use },
    })
  }

  #addOptions(module: Class, options: ModuleOptions): void {
    const { check, checkRoutes, examine, cors, requestContext } = options
    if (check !== undefined) this.#checks.push(check)
    if (checkRoutes !== undefined) this.#routeChecks.push(checkRoutes)
    this.#namedRoles.push({ where: module.name, roles: options.roles ?? [] })
    this.#packages.push(...(options.packages ?? []))
    if (examine !== undefined) this.#examinations.push(examine)
    if (cors !== undefined) {
      this.#problems.addAll(findCorsHeaderProblems(`@Module of ${module.name}: cors`, cors))
      this.#corsHeaders.push(cors)
    }
    this.#requestContext ||= requestContext === true
    this.#arguments.push({ module: module.name, resolvers: options.arguments ?? {} })
  }

  /** @param root undefined if the application has no root module, which is already reported */
  toParts(root: Class | undefined): ModuleParts {
    return {
      name: root?.name ?? 'AppModule',
      controllers: [...this.#controllers],
      records: [...this.#records],
      ownRecords: [...this.#ownRecords],
      providers: [...this.#providers],
      modules: [...this.#modules.keys()],
      graphql: [...this.#graphql],
      use: root === undefined ? new Map() : useByController(this.#modules, root),
      useLists: [...this.#modules.values()].map(({ use }) => use),
      arguments: collectArguments(this.#arguments, this.#problems),
      corsHeaders: this.#corsHeaders,
      checks: this.#checks,
      routeChecks: this.#routeChecks,
      namedRoles: this.#namedRoles,
      packages: this.#packages,
      examinations: this.#examinations,
      requestContext: this.#requestContext,
    }
  }
}

function invalidModule(value: unknown): Problem {
  return {
    code: 'NOT_A_CLASS',
    message: `bootstrap received ${value === undefined ? 'undefined' : `a value of type ${typeof value}`} as its module.`,
    remedy: 'Pass the class with @Module. In an import cycle it is not defined yet.',
  }
}

function readInstances(
  module: Class,
  { graphql = [] }: ModuleOptions,
  problems: Problems,
): GraphQL[] {
  // Programs without types may write anything here.
  const instances: readonly unknown[] = readList(`${module.name}.graphql`, graphql, problems)
  return instances.flatMap((instance, index) => {
    if (instance instanceof GraphQL) return [instance]
    problems.add({
      code: 'NOT_A_GRAPHQL',
      message: `${module.name}.graphql[${index}] is not a GraphQL instance.`,
      remedy: 'Write an instance: new GraphQL().',
    })
    return []
  })
}

function resolveList(
  module: Class,
  option: 'imports' | 'controllers' | 'records',
  references: readonly (ClassReference | undefined)[] | undefined,
  problems: Problems,
): Class[] {
  const list = readList(`${module.name}.${option}`, references, problems)
  return list.flatMap((reference, index) => {
    const where = `${module.name}.${option}[${index}]`
    const resolved = attemptResolve(reference, where, problems)
    return resolved === undefined ? [] : [resolved]
  })
}

/** @returns the list; an empty one if none is given. Anything else becomes a problem. */
export function readList<T>(
  where: string,
  list: readonly T[] | undefined,
  problems: Problems,
): readonly T[] {
  if (list === undefined) return []
  const value: unknown = list
  if (Array.isArray(value)) return list
  problems.add({
    code: 'INVALID_OPTION',
    message: `${where} is not a list.`,
    remedy: `Write ${where.slice(where.lastIndexOf('.') + 1)}: [${nameOf(value)}].`,
  })
  return []
}

function nameOf(value: unknown): string {
  return typeof value === 'function' && value.name !== '' ? value.name : '…'
}

/** A package that is not called looks like a thunk, and throws as soon as it reads its options. */
function attemptResolve(
  reference: ClassReference | undefined,
  where: string,
  problems: Problems,
): Class | undefined {
  let remedy = 'In an import cycle it is not defined yet: write a thunk, () => TheClass.'
  let message = `${where} is not a class.`
  try {
    const resolved = resolveClass(reference)
    if (resolved !== undefined) return resolved
  } catch (error) {
    message = `${where} is a function that throws: ${String(error)}.`
    remedy = 'Call a package with its options, audit({ … }). A thunk only returns a class.'
  }
  problems.add({ code: 'NOT_A_CLASS', message, remedy })
  return undefined
}

// A module's `use` applies to its own routes and to the routes of the modules that it imports. A package's `use` counts as if
// the importing module had listed it.

/** A module in the graph of imports. */
interface ModuleNode {
  readonly imports: readonly Class[]
  readonly controllers: readonly Class[]
  /** True if it was made by `createModule`. */
  readonly isPackage: boolean
  readonly use: UseList
}

type Modules = ReadonlyMap<Class, ModuleNode>

/** @returns the lists for each controller, the lists of importing modules first */
function useByController(modules: Modules, root: Class): Map<Class, readonly UseList[]> {
  const order = importersFirst(modules, root)
  const covered = coveredModules(modules, order)
  const lists = new Map<Class, readonly UseList[]>()
  for (const controller of order.flatMap((module) => modules.get(module)?.controllers ?? [])) {
    const owners = order.filter((module) => modules.get(module)?.controllers.includes(controller))
    const around = order.filter((module) => owners.some((owner) => covered.get(module)?.has(owner)))
    lists.set(
      controller,
      around.flatMap((module) => modules.get(module)?.use ?? []),
    )
  }
  return lists
}

/** For each module, the modules whose routes its `use` applies to. */
function coveredModules(
  modules: Modules,
  order: readonly Class[],
): ReadonlyMap<Class, ReadonlySet<Class>> {
  const reachableFrom = new Map(
    order.map((module) => [module, reachable(modules, module, () => true)]),
  )
  const covered = new Map(order.map((module) => [module, new Set(reachableFrom.get(module))]))
  for (const importer of order) {
    // For a package within a package, the importer of the outer one counts.
    const isPackage = (module: Class): boolean => modules.get(module)?.isPackage === true
    for (const imported of reachable(modules, importer, isPackage)) {
      for (const module of reachableFrom.get(importer) ?? []) covered.get(imported)?.add(module)
    }
  }
  return covered
}

/** The module and the modules that it imports, directly or indirectly. `follows` decides which imports are followed. */
function reachable(
  modules: Modules,
  from: Class,
  follows: (module: Class) => boolean,
): ReadonlySet<Class> {
  const found = new Set([from])
  for (const module of found) {
    for (const imported of modules.get(module)?.imports ?? [])
      if (follows(imported)) found.add(imported)
  }
  return found
}

/** Each module before the modules that it imports, packages first; otherwise in the order of declaration. */
function importersFirst(modules: Modules, root: Class): Class[] {
  const order: Class[] = []
  const visited = new Set<Class>()
  const visit = (module: Class): void => {
    if (visited.has(module)) return
    visited.add(module)
    const imports = modules.get(module)?.imports.toReversed() ?? []
    const isPackage = (imported: Class): boolean => modules.get(imported)?.isPackage === true
    // The list is reversed at the end.
    for (const imported of imports) if (!isPackage(imported)) visit(imported)
    for (const imported of imports) if (isPackage(imported)) visit(imported)
    order.push(module)
  }
  visit(root)
  return order.reverse()
}
