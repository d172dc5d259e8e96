/** Providers: values and instances that constructors may ask for, by class, text or symbol. */
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

/** `{ provide: 'clock', use: () => 0 }`: an existing value. */
interface ValueProvider {
  readonly provide: InjectionToken
  readonly use: unknown
}

/**
 * `{ provide: Mailer, make: (log) => new Mailer(log), inject: [Log] }`: a value that a function creates once, also
 * asynchronously.
 */
interface FactoryProvider {
  readonly provide: InjectionToken
  readonly make: (...dependencies: never[]) => unknown
  readonly inject?: readonly Dependency[]
}

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
  readonly make: (dependencies: readonly unknown[]) => unknown
  /** Why its dependencies are not known, as the end of a sentence; `undefined` if they are. */
  readonly problem: string | undefined
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
  return {
    token,
    ...readFactoryDependencies(declaration.inject ?? [], make.length),
    make: (dependencies) => make(...dependencies),
  }
}

/** A provider that creates `owner` under the key `token`. */
export function classProvider(token: InjectionToken, owner: Class): ContainerProvider {
  const Constructor = constructorOf(owner) as new (...args: unknown[]) => object
  return {
    token,
    ...constructorDependencies(owner),
    make: (dependencies) => new Constructor(...dependencies),
  }
}

/** @returns the token's name for messages: a class's name, or the text */
export function tokenName(token: InjectionToken): string {
  if (typeof token === 'symbol') return token.description ?? String(token)
  return typeof token === 'function' ? token.name : token
}

type Dependencies = Pick<ContainerProvider, 'dependencies' | 'problem'>

function constructorDependencies(owner: Class): Dependencies {
  const { inject } = owner as { inject?: readonly Dependency[] }
  const emitted = emittedConstructorTypes(owner)
  if (inject !== undefined) return checkCount(owner, checkInject(readDependencies(inject), emitted))
  if (emitted !== undefined) return readEmitted(emitted)
  if (owner.length === 0) return { dependencies: [], problem: undefined }
  const takes = countOf(owner.length, 'argument')
  return { dependencies: [], problem: `takes ${takes}, whose types the compiler did not emit` }
}

function readFactoryDependencies(inject: readonly Dependency[], parameters: number): Dependencies {
  const declared = readDependencies(inject)
  if (declared.problem !== undefined || parameters <= inject.length) return declared
  const problem = `has a make that takes ${countOf(parameters, 'argument')}, but inject has ${countOf(inject.length, 'entry')}`
  return { ...declared, problem }
}

/** Compares the number of entries of `static inject` with the constructor's arguments. */
function checkCount(owner: Class, declared: Dependencies): Dependencies {
  if (declared.problem !== undefined) return declared
  const entries = declared.dependencies.length
  const { required, isExact } = constructorArguments(owner)
  const hasMore = entries > required && isExact && Object.hasOwn(owner, 'inject')
  if (entries >= required && !hasMore) return declared
  const problem = `takes ${countOf(required, 'argument')}, but inject has ${countOf(entries, 'entry')}`
  return { ...declared, problem }
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
      return { dependencies, problem: `has no token at position ${index + 1} of inject` }
    }
    dependencies.push(token)
  }
  return { dependencies, problem: undefined }
}

/**
 * Compares `static inject` with the types that the compiler emitted, if it did, to find swapped entries at the start.
 */
function checkInject(
  declared: Dependencies,
  emitted: readonly unknown[] | undefined,
): Dependencies {
  if (declared.problem !== undefined || emitted === undefined) return declared
  for (const [index, type] of emitted.entries()) {
    const token = declared.dependencies[index]
    if (!isClass(type) || valueTypes.includes(type) || !isClass(token)) continue
    // Any compatible class is allowed. A class that another argument requires is a mistake.
    const isSwapped = token !== type && declared.dependencies.includes(type)
    if (!isSwapped) continue
    const problem = `has ${token.name} at position ${index + 1} of inject, where its constructor takes ${type.name}`
    return { dependencies: declared.dependencies, problem }
  }
  return declared
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

function readEmitted(types: readonly unknown[]): Dependencies {
  for (const [index, type] of types.entries()) {
    if (isClass(type) && !valueTypes.includes(type)) continue
    const problem =
      type === undefined
        ? `has argument ${index + 1} whose class is not defined yet (an import cycle, or further down the file)`
        : `has argument ${index + 1} whose type is not a class (an interface, a type or a plain value)`
    return { dependencies: [], problem }
  }
  return { dependencies: types as readonly Class[], problem: undefined }
}

function isToken(value: unknown): value is InjectionToken {
  return typeof value === 'string' || typeof value === 'symbol' || isClass(value)
}
