/** Providers: values and instances that constructors may ask for, by class, text or symbol. */
import type { Problem } from '../errors/declaration-error.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import {
  constructorOf,
  resolveClass,
  type ClassReference,
  type Class,
  isClass,
} from '../metadata/class.js'
import {
  emittedConstructorTypes,
  decorate,
  toDecorator,
  type AnyDecorator,
} from '../metadata/dialect.js'

/** The key of a provider. */
export type InjectionToken = Class | string | symbol

/** An entry of `static inject`: a token, or a thunk of a class that is defined later. */
type Dependency = InjectionToken | (() => Class)

export const valueProviderOptions = declareOptions({
  provide: option.any<InjectionToken>().required(),
  use: option.any<unknown>(),
})

/** `{ provide: 'clock', use: () => 0 }`: an existing value. */
interface ValueProvider extends OptionsOf<typeof valueProviderOptions> {
  readonly use: unknown
}

export const factoryProviderOptions = declareOptions({
  provide: option.any<InjectionToken>().required(),
  make: option.any<(...dependencies: never[]) => unknown>().required(),
  inject: option.any<readonly Dependency[]>(),
})

/**
 * `{ provide: Mailer, make: (log) => new Mailer(log), inject: [Log] }`: a value that a function creates once, also
 * asynchronously.
 */
interface FactoryProvider extends OptionsOf<typeof factoryProviderOptions> {}

/** A class, a thunk of one, a value or a factory. */
export type ProviderDeclaration = ClassReference | ValueProvider | FactoryProvider

/**
 * The type of a class's `static inject`: a token for each argument of its constructor, in order. A class of another
 * type than the argument's does not compile.
 *
 * ```ts
 * class OrderController {
 *   static readonly inject = [OrderStore, Mailer] satisfies Inject<typeof OrderController>
 *   constructor(orders: OrderStore, mailer: Mailer) { … }
 * }
 * ```
 */
export type Inject<C extends abstract new (...values: never[]) => unknown> = TokensOf<
  ConstructorParameters<C>
>
type TokensOf<Values extends readonly unknown[]> = {
  readonly [Index in keyof Values]: ClassReference<Values[Index]> | string | symbol
}

/** A provider, in the form that the container uses. */
export interface ContainerProvider {
  readonly token: InjectionToken
  readonly dependencies: readonly InjectionToken[]
  /** Undefined for providers of the framework, whose instances are set. */
  readonly make: ((dependencies: readonly unknown[]) => unknown) | undefined
  /** Why its dependencies are not known; `undefined` if they are. */
  readonly problem: Problem | undefined
}

/**
 * Lets the compiler emit the types of a provider's constructor. Only needed if the constructor has arguments and the
 * class has no `static inject` and no other decorator.
 */
export function Injectable(): AnyDecorator
export function Injectable(target: Class): void
export function Injectable(value: unknown, context: DecoratorContext): void
export function Injectable(...args: unknown[]): AnyDecorator | undefined {
  // The decorator does nothing: its presence makes the compiler emit the types.
  const nothing = (): void => undefined
  return decorate(args, nothing) ? undefined : toDecorator(nothing)
}

/** @returns `undefined` for anything that is not a provider */
export function toProvider(
  declaration: ProviderDeclaration | undefined,
): ContainerProvider | undefined {
  if (typeof declaration === 'function') {
    const owner = resolveClass(declaration)
    return owner === undefined ? undefined : classProvider(owner, owner)
  }
  if (typeof declaration !== 'object' || !isToken(declaration.provide)) return undefined
  const token = declaration.provide
  if ('use' in declaration) {
    return { token, dependencies: [], make: () => declaration.use, problem: undefined }
  }
  if (typeof declaration.make !== 'function') return undefined
  const make = declaration.make as (...dependencies: unknown[]) => unknown
  const { dependencies, mistake } = factoryDependencies(declaration.inject ?? [], make.length)
  return {
    token,
    dependencies,
    make: (created) => make(...created),
    problem: mistake === undefined ? undefined : toProblem(token, mistake, factoryRemedy),
  }
}

/** A provider that creates `owner` under the key `token`. */
export function classProvider(token: InjectionToken, owner: Class): ContainerProvider {
  const Constructor = constructorOf(owner) as new (...args: unknown[]) => object
  const { dependencies, mistake } = constructorDependencies(owner)
  return {
    token,
    dependencies,
    make: (created) => new Constructor(...created),
    problem:
      mistake === undefined
        ? undefined
        : toProblem(token, mistake, constructorRemedy(tokenName(token), mistake)),
  }
}

/** @returns the token's name for messages: a class's name, or the text */
export function tokenName(token: InjectionToken): string {
  if (typeof token === 'symbol') return token.description ?? String(token)
  return typeof token === 'function' ? token.name : token
}

interface Dependencies {
  readonly dependencies: readonly InjectionToken[]
  /** What is wrong with them, as the end of a sentence about the provider; `undefined` if they are complete. */
  readonly mistake: string | undefined
}

function constructorDependencies(owner: Class): Dependencies {
  const { inject } = owner as { inject?: readonly Dependency[] }
  const emitted = emittedConstructorTypes(owner)
  if (inject !== undefined) {
    const { dependencies, mistake } = readDependencies(inject)
    return {
      dependencies,
      mistake:
        mistake ??
        describeSwappedEntry(dependencies, emitted ?? []) ??
        describeWrongCount(dependencies, owner),
    }
  }
  if (emitted !== undefined) return readEmittedTypes(emitted)
  if (owner.length === 0) return { dependencies: [], mistake: undefined }
  return { dependencies: [], mistake: `takes ${countOf(owner.length, 'argument')}, ${notEmitted}` }
}

const notEmitted = 'whose types the compiler did not emit'

function constructorRemedy(name: string, mistake: string): string {
  const remedy = `Add to ${name}: static inject = [ … ], the classes or tokens in order.`
  if (!mistake.endsWith(notEmitted)) return remedy
  return `${remedy} Or set "emitDecoratorMetadata": true in tsconfig.json (tsx and esbuild emit none) and put a decorator on the class, @Injectable if it has no other.`
}

function factoryDependencies(inject: readonly Dependency[], parameters: number): Dependencies {
  const { dependencies, mistake } = readDependencies(inject)
  if (mistake !== undefined || parameters <= inject.length) return { dependencies, mistake }
  return {
    dependencies,
    mistake: `has a make that takes ${countOf(parameters, 'argument')}, but inject has ${countOf(inject.length, 'entry')}`,
  }
}

const factoryRemedy = 'List in `inject` the classes or tokens of all arguments of `make`, in order.'

function toProblem(token: InjectionToken, mistake: string, remedy: string): Problem {
  return { code: 'UNREADABLE_DEPENDENCIES', message: `${tokenName(token)} ${mistake}.`, remedy }
}

/** Compares the number of entries of `static inject` with the constructor's arguments. */
function describeWrongCount(
  dependencies: readonly InjectionToken[],
  owner: Class,
): string | undefined {
  const entries = dependencies.length
  const { required, isExact } = constructorArguments(owner)
  const hasMore = entries > required && isExact && Object.hasOwn(owner, 'inject')
  if (entries >= required && !hasMore) return undefined
  return `takes ${countOf(required, 'argument')}, but inject has ${countOf(entries, 'entry')}`
}

/**
 * @returns the number of arguments without a default value. `isExact` is true if the source text shows that there are no
 * others. A class without a constructor uses the one of its base class
 */
function constructorArguments(owner: Class): { required: number; isExact: boolean } {
  let type = owner as { readonly length: number }
  for (;;) {
    const source = Function.prototype.toString.call(type)
    const base = Object.getPrototypeOf(type) as { readonly length: number } | null
    if (/\bconstructor\s*\(/.test(source) || type.length > 0) {
      const isExact = /\bconstructor\s*\([^()=.]*\)/.test(source) && !/\barguments\b/.test(source)
      return { required: type.length, isExact }
    }
    if (base === null || base === Function.prototype) return { required: 0, isExact: false }
    type = base
  }
}

function countOf(count: number, noun: 'argument' | 'entry'): string {
  if (count === 1) return `1 ${noun}`
  return `${count} ${noun === 'entry' ? 'entries' : 'arguments'}`
}

function readDependencies(declared: readonly (Dependency | undefined)[]): Dependencies {
  const dependencies: InjectionToken[] = []
  for (const [index, dependency] of declared.entries()) {
    const token = typeof dependency === 'function' ? resolveClass(dependency) : dependency
    if (!isToken(token)) {
      return { dependencies, mistake: `has no token at position ${index + 1} of inject` }
    }
    dependencies.push(token)
  }
  return { dependencies, mistake: undefined }
}

/** Compares `static inject` with the types that the compiler emitted, to find swapped entries at the start. */
function describeSwappedEntry(
  dependencies: readonly InjectionToken[],
  emitted: readonly unknown[],
): string | undefined {
  for (const [index, type] of emitted.entries()) {
    const token = dependencies[index]
    if (!isClass(type) || valueTypes.includes(type) || !isClass(token)) continue
    // Any compatible class is allowed. A class that another argument requires is a mistake.
    if (token === type || !dependencies.includes(type)) continue
    return `has ${token.name} at position ${index + 1} of inject, where its constructor takes ${type.name}`
  }
  return undefined
}

const valueTypes: readonly unknown[] = [
  Object,
  String,
  Number,
  Boolean,
  Array,
  Function,
  Symbol,
  BigInt,
  Promise,
]

function readEmittedTypes(types: readonly unknown[]): Dependencies {
  for (const [index, type] of types.entries()) {
    if (isClass(type) && !valueTypes.includes(type)) continue
    const mistake =
      type === undefined
        ? `has argument ${index + 1} whose class is not defined yet (an import cycle, or further down the file)`
        : `has argument ${index + 1} whose type is not a class (an interface, a type or a plain value)`
    return { dependencies: [], mistake }
  }
  return { dependencies: types as readonly Class[], mistake: undefined }
}

function isToken(value: unknown): value is InjectionToken {
  return typeof value === 'string' || typeof value === 'symbol' || isClass(value)
}
