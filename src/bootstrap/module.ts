/** `@Module`: what an application, or a part of it, is made of. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-names.js'
import { GraphQL } from '../graphql/graphql.js'
import { resolveClass, type ClassReference } from '../metadata/class-reference.js'
import { isClass, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import { createClassNote, type Class } from '../metadata/note.js'
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
}

/** A module and all it imports, as flat lists without repetition. */
export interface Parts {
  /** The name of the outermost module, for remedies. */
  readonly name: string
  readonly controllers: readonly Class[]
  readonly records: readonly Class[]
  readonly providers: readonly ProviderDeclaration[]
  readonly graphql: readonly GraphQL[]
}

const moduleNote = createClassNote<ModuleOptions>('module')

/** Says what belongs to an application: `bootstrap(AppModule)` starts from such a class. */
export function Module(options: ModuleOptions = {}): AnyDecorator {
  return toDecorator(({ owner }) => {
    moduleNote.write(owner, options)
  })
}

const optionNames: Readonly<Record<keyof ModuleOptions, true>> = {
  controllers: true,
  graphql: true,
  imports: true,
  providers: true,
  records: true,
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
  const seen = new Set<Class>()
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
    for (const imported of resolveList(module, 'imports', options.imports, problems))
      visit(imported)
    for (const declared of options.providers ?? []) providers.add(declared)
    for (const instance of readInstances(module, options, problems)) graphql.add(instance)
    for (const record of resolveList(module, 'records', options.records, problems)) {
      records.add(record)
    }
    for (const controller of resolveList(module, 'controllers', options.controllers, problems)) {
      controllers.add(controller)
    }
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
  const given: readonly unknown[] = graphql
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
  references: readonly (ClassReference | undefined)[] = [],
  problems: Problem[],
): Class[] {
  return references.flatMap((reference, index) => {
    const resolved = resolveClass(reference)
    if (resolved !== undefined) return [resolved]
    problems.push({
      code: 'NOT_A_CLASS',
      message: `${module.name}.${option}[${index}] is no class.`,
      remedy: 'In an import cycle it is not defined yet: write a thunk, () => TheClass.',
    })
    return []
  })
}
