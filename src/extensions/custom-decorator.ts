/**
 * `createDecorator`: custom decorators that run code, check routes and change their documentation. See
 * docs/extending.md.
 */
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { OperationObject } from 'openapi3-ts/oas31'
import { decorate, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import type { Class } from '../metadata/class.js'
import type { MetadataDecorator, RouteInfo } from '../routing/route.js'
import {
  type OnEnter,
  type Intercept,
  type InterceptorPosition,
  addInterceptors,
  type DecoratorEntry,
} from './interceptor.js'

/** A problem that `check` reports. */
export interface DecoratorProblem {
  /** The problem, as the end of a sentence about the handler: `caches GET only`. */
  readonly message: string
  /** How to fix it. */
  readonly remedy?: string
}

export const decoratorSpecification = declareOptions({
  /** The position of `enter` and `intercept`. Default `'handler'`. */
  before: option.any<InterceptorPosition>(),
  /** Called once for each route, at the start; the problems that it returns stop the start. */
  check: option.any<(route: RouteInfo) => readonly DecoratorProblem[]>(),
  /** Changes the OpenAPI operation of the route. */
  document: option.any<(operation: OperationObject) => OperationObject>(),
  /**
   * The providers that are passed to `enter` and `intercept` after the route, by class or token. Classes need not be
   * listed as providers.
   */
  inject: option.any<readonly (Class | string | symbol)[]>(),
  /**
   * For code that only runs before the handler and does not see the response. Called at the start, once for each route.
   * The returned function is called with each request, before the function of `intercept`.
   */
  enter: option.any<(route: RouteInfo, ...injected: never[]) => OnEnter>(),
  /** Called at the start, once for each route. The returned function is called with each request. */
  intercept: option.any<(route: RouteInfo, ...injected: never[]) => Intercept>(),
})

/** The behaviour of a custom decorator. All parts are optional. */
export interface DecoratorSpecification extends OptionsOf<typeof decoratorSpecification> {}

/** A decorator for methods and classes. Without arguments the parentheses are optional. */
export type CustomDecorator<Arguments extends readonly unknown[]> = MetadataDecorator<Arguments> &
  ((...args: Arguments) => AnyDecorator) &
  (Arguments extends readonly [] ? AnyDecorator : unknown)

/**
 * Creates a custom decorator. On a class it applies to all its routes.
 *
 * @param name the name for messages: `CacheFor`
 * @param specify returns the specification for the decorator's arguments. Called at the start
 */
export function createDecorator<Arguments extends readonly unknown[]>(
  name: string,
  specify: (...args: Arguments) => DecoratorSpecification,
): CustomDecorator<Arguments> {
  const decorator = (...args: unknown[]): AnyDecorator | undefined => {
    // A single class may be the target or an argument. It is an argument if the decorator has parameters.
    const isArgument = args.length === 1 && specify.length > 0
    const isBare =
      !isArgument &&
      decorate(args, (target) => {
        addInterceptors(target, `@${name}`, [toEntry([])])
      })
    if (isBare) return undefined
    const entry = toEntry(args)
    const written = toDecorator((target) => {
      addInterceptors(target, `@${name}`, [entry])
    })
    entriesByDecorator.set(written, entry)
    return written
  }
  const customDecorator = Object.assign(decorator, {
    decoratorName: name,
  }) as CustomDecorator<Arguments>
  const toEntry = (args: readonly unknown[]): DecoratorEntry => {
    let cached: { readonly specification: unknown } | undefined
    const make = (): unknown => specify(...(args as Arguments))
    return {
      decorator: customDecorator,
      args: Object.freeze([...args]),
      specify: () => (cached ??= { specification: make() }).specification,
    }
  }
  entriesByDecorator.set(customDecorator, toEntry([]))
  return customDecorator
}

/** The entries by the decorator function, with or without a call. */
const entriesByDecorator = new WeakMap<object, DecoratorEntry>()

/** @returns undefined for functions that `createDecorator` did not create */
export function entryOf(decorator: unknown): DecoratorEntry | undefined {
  return typeof decorator === 'function' ? entriesByDecorator.get(decorator) : undefined
}

/** Marks routes that only the page of a package calls, such as the admin page. The OpenAPI document omits them. */
export const Undocumented = createDecorator('Undocumented', () => ({}))

/**
 * Marks routes that machines call, such as health probes and scrapes: limits do not count them, the modules of the framework
 * neither cache nor compress their responses, and documents list them last. `health` and `metrics` use it.
 */
export const Operational = createDecorator('Operational', () => ({}))
