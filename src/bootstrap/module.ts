/** `@Module`: what an application, or a part of it, is made of. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-names.js'
import { GraphQL } from '../graphql/graphql.js'
import { resolveClass, type ClassReference } from '../metadata/class-reference.js'
import { isClass, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import { createClassNote, type Class } from '../metadata/note.js'
import type { EntryInterceptor, Interceptor } from '../seam/interceptor.js'
import {
  collectArguments,
  type DeclaredArguments,
  type OwnArguments,
  type TakeArgument,
} from '../seam/own-arguments.js'
import { useByController, type ModuleNode } from './module-order.js'
import { readList } from './option-lists.js'
import type { UseList } from './plan-seam.js'
import type { ProviderDeclaration } from './provider.js'

export interface ModuleOptions {
  /** Classes with `@Controller`, whose routes are served. */
  controllers?: readonly ClassReference[]
  /** What constructors may ask for. Each is made once. */
  providers?: readonly ProviderDeclaration[]
  /** Classes with `@Record`: their tables are made, their GraphQL types and operations served. */
  records?: readonly ClassReference[]
  /** Instances with schemas of their own; those with `registerRoute` are served. */
  graphql?: readonly GraphQL[]
  /** Other modules whose controllers and providers belong to the application too. */
  imports?: readonly ClassReference[]
  /** Interceptors around every route of this module and of those that it imports, the first outermost. */
  use?: readonly ClassReference<Interceptor | EntryInterceptor>[]
  /** What is wrong with the options that a package was given: it joins the report of the start. */
  problems?: readonly Problem[]
  /** Arguments that handlers of the whole application may name: `{ tenant: (request) => … }`. */
  arguments?: Readonly<Record<string, TakeArgument>>
  /**
   * True where code of this module asks for `currentRequest()` behind an `await`: the application then follows requests
   * through promises, at a tenth to a quarter of a small route's throughput. `bootstrap` may say otherwise.
   */
  requestContext?: boolean
}

/** A module and all it imports, as flat lists without repetition. */
export interface Parts {
  /** The name of the outermost module, for remedies. */
  readonly name: string
  readonly controllers: readonly Class[]
  readonly records: readonly Class[]
  readonly providers: readonly ProviderDeclaration[]
  readonly graphql: readonly GraphQL[]
  /** Who stands around the routes of a controller as a whole, from outside to inside. */
  readonly use: ReadonlyMap<Class, readonly UseList[]>
  /** Of all modules. */
  readonly useLists: readonly UseList[]
  readonly arguments: OwnArguments
  /** A module says `requestContext`. */
  readonly requestContext: boolean
}

const moduleNote = createClassNote<ModuleOptions>('module')

/** Says what belongs to an application: `bootstrap(AppModule)` starts from such a class. */
export function Module(options: ModuleOptions = {}): AnyDecorator {
  return toDecorator(({ owner }) => {
    moduleNote.write(owner, options)
  })
}

const packages = createClassNote<true>('package')

/** Notes what `createModule` made. */
export function writePackage(owner: Class, options: ModuleOptions): void {
  moduleNote.write(owner, options)
  packages.write(owner, true)
  for (const controller of options.controllers ?? []) {
    const type = resolveClass(controller)
    if (type !== undefined) packages.write(type, true)
  }
}

/** True for controllers that `createModule` brought: their classes are nobody's to import. */
export function isOfPackage(controller: Class): boolean {
  return packages.read(controller) === true
}

const optionNames: Readonly<Record<keyof ModuleOptions, true>> = {
  arguments: true,
  controllers: true,
  graphql: true,
  imports: true,
  problems: true,
  providers: true,
  records: true,
  requestContext: true,
  use: true,
}

/** True for a class that carries `@Module` itself. */
export function isModule(type: Class): boolean {
  return moduleNote.readOwn(type) !== undefined
}

/** Gathers a module's parts with those of everything it imports; a module that is imported twice counts once. */
export function collectParts(root: Class, problems: Problem[]): Parts {
  const controllers = new Set<Class>()
  const records = new Set<Class>()
  const providers = new Set<ProviderDeclaration>()
  const graphql = new Set<GraphQL>()
  const modules = new Map<Class, ModuleNode>()
  const seen = new Set<Class>()
  const declared: DeclaredArguments[] = []
  let requestContext = false
  const visit = (module: Class): void => {
    if (seen.has(module)) return
    seen.add(module)
    const options = moduleNote.readOwn(module)
    if (options === undefined) {
      problems.push({
        code: 'NOT_A_MODULE',
        message: `${module.name} is used as a module and carries no @Module.`,
        remedy: `Write @Module({ … }) before class ${module.name}.`,
      })
      return
    }
    refuseUnknownNames(`@Module of ${module.name}`, options, optionNames, problems)
    problems.push(...(options.problems ?? []))
    const imports = resolveList(module, 'imports', options.imports, problems)
    for (const imported of imports) visit(imported)
    for (const provider of readList(`${module.name}.providers`, options.providers, problems)) {
      providers.add(provider)
    }
    for (const instance of readInstances(module, options, problems)) graphql.add(instance)
    for (const record of resolveList(module, 'records', options.records, problems)) {
      records.add(record)
    }
    const own = resolveList(module, 'controllers', options.controllers, problems)
    for (const controller of own) controllers.add(controller)
    requestContext ||= options.requestContext === true
    declared.push({ module: module.name, taken: options.arguments ?? {} })
    modules.set(module, {
      imports,
      controllers: own,
      isPackage: packages.readOwn(module) === true,
      use: {
        where: `@Module of ${module.name}`,
        use: readList(`${module.name}.use`, options.use, problems),
      },
    })
  }
  // Programs without types, and import cycles, bring what is no class.
  const given: unknown = root
  if (isClass(given)) visit(given)
  else problems.push(noModule(given))
  return {
    name: isClass(given) ? given.name : 'AppModule',
    controllers: [...controllers],
    records: [...records],
    providers: [...providers],
    graphql: [...graphql],
    use: isClass(given) ? useByController(modules, given) : new Map(),
    useLists: [...modules.values()].map(({ use }) => use),
    arguments: collectArguments(declared, problems),
    requestContext,
  }
}

function noModule(given: unknown): Problem {
  return {
    code: 'NOT_A_CLASS',
    message: `bootstrap was given ${given === undefined ? 'undefined' : `a value of type ${typeof given}`} for a module.`,
    remedy: 'Give the class with @Module; in an import cycle it is not defined yet.',
  }
}

function readInstances(
  module: Class,
  { graphql = [] }: ModuleOptions,
  problems: Problem[],
): GraphQL[] {
  // What an application without types writes there may be anything.
  const given: readonly unknown[] = readList(`${module.name}.graphql`, graphql, problems)
  return given.flatMap((instance, index) => {
    if (instance instanceof GraphQL) return [instance]
    problems.push({
      code: 'NOT_A_GRAPHQL',
      message: `${module.name}.graphql[${index}] is no GraphQL.`,
      remedy: 'Give an instance: new GraphQL().',
    })
    return []
  })
}

function resolveList(
  module: Class,
  option: 'imports' | 'controllers' | 'records',
  references: readonly (ClassReference | undefined)[] | undefined,
  problems: Problem[],
): Class[] {
  const list = readList(`${module.name}.${option}`, references, problems)
  return list.flatMap((reference, index) => {
    const where = `${module.name}.${option}[${index}]`
    const resolved = attemptResolve(reference, where, problems)
    return resolved === undefined ? [] : [resolved]
  })
}

/** A package that is not called looks like a thunk, and throws as soon as it reads its options. */
function attemptResolve(
  reference: ClassReference | undefined,
  where: string,
  problems: Problem[],
): Class | undefined {
  let remedy = 'In an import cycle it is not defined yet: write a thunk, () => TheClass.'
  let message = `${where} is no class.`
  try {
    const resolved = resolveClass(reference)
    if (resolved !== undefined) return resolved
  } catch (error) {
    message = `${where} is a function that throws: ${String(error)}.`
    remedy = 'Call a package with its options, audit({ … }); a thunk only names a class.'
  }
  problems.push({ code: 'NOT_A_CLASS', message, remedy })
  return undefined
}
