/**
 * Creates every provider and controller once, in the order of their dependencies, and starts and stops them. Problems
 * are found before anything is created.
 */
import { resetState } from '../core/provider-symbols.js'
import type { Problems } from '../errors/problems.js'
import { suggestion } from '../errors/did-you-mean.js'
import { isClass, type Class } from '../metadata/class.js'
import {
  classProvider,
  tokenName,
  toProvider,
  factoryProviderOptions,
  valueProviderOptions,
  type ContainerProvider,
  type ProviderDeclaration,
  type InjectionToken,
} from './provider.js'

/** A provider with hooks for start and stop. Both may be asynchronous. */
export interface Lifecycle {
  /** Called before the application listens, after `onStart` of its dependencies. A rejection stops bootstrap. */
  onStart?(): unknown
  /**
   * Called when the application begins to close but still listens. The port stays open until it is done, at most for
   * `times.drain`.
   */
  onClosing?(): unknown
  /** Called after the last request, in reverse order. */
  onStop?(): unknown
  /** Called between two tests: clears counters and stored values. */
  [resetState]?(): unknown
}

interface ContainerOptions {
  /** The module that messages mention. */
  readonly moduleName: string
  readonly providers: readonly ProviderDeclaration[]
  readonly controllers: readonly Class[]
  /** Classes of interceptors; they need not be listed as providers. */
  readonly interceptors?: readonly Class[]
  /** Replacements of providers, by token: a class is instantiated, anything else is the value. */
  readonly override: readonly (readonly [InjectionToken, unknown])[]
  /** Tokens of the framework's providers. Providers of the application with the same token take precedence. */
  readonly builtIn: readonly Class[]
}

export class Container {
  readonly #providers: ReadonlyMap<InjectionToken, ContainerProvider>
  readonly #instances = new Map<InjectionToken, unknown>()
  readonly #started: unknown[] = []

  /** @param providers checked: all dependencies are among them, without cycles */
  constructor(providers: ReadonlyMap<InjectionToken, ContainerProvider>) {
    this.#providers = providers
  }

  /** True if a provider or controller depends on the token. */
  isNeeded(token: InjectionToken): boolean {
    return this.dependentsOf(token).length > 0
  }

  /** The names of the providers and controllers that depend on the token. */
  dependentsOf(token: InjectionToken): string[] {
    return [...this.#providers.values()]
      .filter(({ dependencies }) => dependencies.includes(token))
      .map((provider) => tokenName(provider.token))
  }

  /** True if a class depends on a token, directly or through its dependencies. */
  dependsOn(dependent: InjectionToken, token: InjectionToken): boolean {
    const visited = new Set<InjectionToken>([dependent])
    for (const next of visited) {
      if (next === token) return true
      for (const dependency of this.#providers.get(next)?.dependencies ?? [])
        visited.add(dependency)
    }
    return false
  }

  /**
   * Sets the instance of a provider of the framework, unless the application provides the token itself. Called before
   * `createAll`.
   */
  setBuiltIn(token: InjectionToken, instance: unknown): void {
    const provider = this.#providers.get(token)
    if (provider !== undefined && provider.make === undefined) this.#instances.set(token, instance)
  }

  /** Creates everything, each after its dependencies. Awaits factories that return promises. */
  async createAll(): Promise<void> {
    for (const [token, { make }] of this.#providers) {
      if (make !== undefined) await this.#create(token)
    }
  }

  /**
   * @returns the instance for a token
   * @throws {Error} if nothing provides it
   */
  get<T>(token: Class<T> | string | symbol): T {
    if (!this.#instances.has(token as InjectionToken)) {
      const name = tokenName(token as InjectionToken)
      throw new Error(`No module provides ${name}. ${this.#fixFor(token as InjectionToken, name)}`)
    }
    return this.#instances.get(token as InjectionToken) as T
  }

  /**
   * Calls `onStart` of every instance that has it, in the order of creation. After a failure, `stop` stops the started
   * instances.
   */
  async start(): Promise<void> {
    for (const instance of new Set(this.#instances.values())) {
      await lifecycleOf(instance).onStart?.()
      this.#started.push(instance)
    }
  }

  /** Calls `onClosing` of everything that was started, concurrently. */
  async announceClosing(onFailure: (error: unknown) => void): Promise<void> {
    const hooks = this.#started.map(async (instance) => {
      try {
        await lifecycleOf(instance).onClosing?.()
      } catch (error) {
        onFailure(error)
      }
    })
    await Promise.all(hooks)
  }

  /** Calls `[resetState]` of everything that was started, in the order of creation. */
  async reset(): Promise<void> {
    for (const instance of this.#started) await lifecycleOf(instance)[resetState]?.()
  }

  /** True if some instance has `onClosing`. */
  get hasClosingHook(): boolean {
    return this.#started.some((instance) => lifecycleOf(instance).onClosing !== undefined)
  }

  /** All instances, with the names of their tokens. */
  instances(): (readonly [name: string, instance: unknown])[] {
    return [...this.#instances].map(([token, instance]) => [tokenName(token), instance])
  }

  /** Calls `onStop` of all started instances, in reverse order. If one fails, the remaining ones are still stopped. */
  async stop(onFailure: (error: unknown) => void): Promise<void> {
    for (const instance of this.#started.splice(0).toReversed()) {
      try {
        await lifecycleOf(instance).onStop?.()
      } catch (error) {
        onFailure(error)
      }
    }
  }

  #fixFor(token: InjectionToken, name: string): string {
    // Such as `Database`, which the framework opens only if something needs it.
    if (this.#providers.has(token))
      return 'Add records to the module, or inject it in a constructor.'
    const near = suggestion(name, [...this.#providers.keys()].map(tokenName))
    return near === undefined ? 'Add it to the providers of a module.' : `Did you mean ${near}?`
  }

  async #create(token: InjectionToken): Promise<unknown> {
    if (this.#instances.has(token)) return this.#instances.get(token)
    const provider = this.#providers.get(token)
    if (provider?.make === undefined)
      throw new Error('A provider of the framework was requested before it was set.')
    const dependencies: unknown[] = []
    for (const dependency of provider.dependencies)
      dependencies.push(await this.#create(dependency))
    const instance = await provider.make(dependencies)
    this.#instances.set(token, instance)
    return instance
  }
}

/** Checks and orders the providers. Missing, circular and unreadable dependencies are reported as problems. */
export function createContainer(options: ContainerOptions, problems: Problems): Container {
  const providers = collectProviders(options, problems)
  for (const provider of providers.values())
    checkDependencies(provider, providers, options, problems)
  checkCycles(providers, problems)
  return new Container(providers)
}

function collectProviders(
  options: ContainerOptions,
  problems: Problems,
): Map<InjectionToken, ContainerProvider> {
  const declared = new Map<InjectionToken, ProviderDeclaration>()
  const providers = new Map<InjectionToken, ContainerProvider>()
  for (const token of options.builtIn) {
    providers.set(token, { token, dependencies: [], make: undefined, problem: undefined })
  }
  for (const declaration of options.providers) {
    const provider = toProvider(declaration)
    if (provider === undefined) {
      problems.add({
        code: 'NOT_A_PROVIDER',
        message: `${options.moduleName}: one of the providers is neither a class nor { provide, use } nor { provide, make }.`,
        remedy:
          (declaration as unknown) === undefined
            ? 'In an import cycle a class is not defined yet: write a thunk, () => TheClass.'
            : "Write the class, or { provide: 'name', use: value }.",
      })
      continue
    }
    if (typeof declaration === 'object') {
      const where = `${options.moduleName}: provider ${tokenName(provider.token)}`
      const known = 'use' in declaration ? valueProviderOptions : factoryProviderOptions
      problems.addAll(known.findProblems(declaration, where))
    }
    if (declared.has(provider.token) && declared.get(provider.token) !== declaration) {
      problems.add({
        code: 'DUPLICATE_PROVIDER',
        message: `${tokenName(provider.token)} is provided twice, in different ways.`,
        remedy: 'Keep one of them; tests replace it with the option `override`.',
      })
    }
    declared.set(provider.token, declaration)
    providers.set(provider.token, provider)
  }
  for (const type of [...(options.interceptors ?? []), ...options.controllers]) {
    if (!providers.has(type)) providers.set(type, classProvider(type, type))
  }
  applyOverrides(providers, options, problems)
  return providers
}

function applyOverrides(
  providers: Map<InjectionToken, ContainerProvider>,
  { override }: ContainerOptions,
  problems: Problems,
): void {
  for (const [token, replacement] of override) {
    if (!providers.has(token)) {
      problems.add({
        code: 'UNKNOWN_OVERRIDE',
        message: `override: nothing provides ${tokenName(token)}, so nothing can be replaced.`,
        remedy: 'Override a token that a module provides.',
      })
    }
    const provider: ContainerProvider = isClass(replacement)
      ? classProvider(token, replacement)
      : { token, dependencies: [], make: () => replacement, problem: undefined }
    providers.set(token, provider)
  }
}

function checkDependencies(
  provider: ContainerProvider,
  providers: ReadonlyMap<InjectionToken, ContainerProvider>,
  { moduleName }: ContainerOptions,
  problems: Problems,
): void {
  if (provider.problem !== undefined) problems.add(provider.problem)
  for (const dependency of provider.dependencies) {
    if (providers.has(dependency)) continue
    const path = pathTo(provider.token, providers)
    problems.add({
      code: 'MISSING_PROVIDER',
      message: `${path} needs ${tokenName(dependency)}, which no module provides.`,
      remedy: `Add ${tokenName(dependency)} to ${moduleName}.providers.`,
    })
  }
}

/** The chain of dependencies that leads to a token, from the outside: `OrderController → OrderStore`. */
function pathTo(
  token: InjectionToken,
  providers: ReadonlyMap<InjectionToken, ContainerProvider>,
  visited = new Set<InjectionToken>(),
): string {
  visited.add(token)
  for (const other of providers.values()) {
    if (visited.has(other.token) || !other.dependencies.includes(token)) continue
    return `${pathTo(other.token, providers, visited)} → ${tokenName(token)}`
  }
  return tokenName(token)
}

function checkCycles(
  providers: ReadonlyMap<InjectionToken, ContainerProvider>,
  problems: Problems,
): void {
  const done = new Set<InjectionToken>()
  const visit = (token: InjectionToken, path: readonly InjectionToken[]): void => {
    const start = path.indexOf(token)
    if (start !== -1) {
      const names = [...path.slice(start), token].map(tokenName)
      problems.add({
        code: 'CIRCULAR_PROVIDERS',
        message: `${names.join(' → ')}: these depend on each other in a circle.`,
        remedy: 'Move the shared part into a provider of its own.',
      })
      return
    }
    if (done.has(token)) return
    for (const dependency of providers.get(token)?.dependencies ?? [])
      visit(dependency, [...path, token])
    done.add(token)
  }
  for (const token of providers.keys()) visit(token, [])
}

function lifecycleOf(instance: unknown): Lifecycle {
  return typeof instance === 'object' && instance !== null ? instance : {}
}
