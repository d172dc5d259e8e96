/**
 * `createDecorator`: custom decorators that act, check and document. The decorator writes a note; the start reads and
 * checks it and adds its problems to the report. See docs/extending.md.
 */

import type { OperationObject } from 'openapi3-ts/oas31'
import { decorate, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import type { Class } from '../metadata/class-metadata.js'
import type { MetadataDecorator, RouteInfo } from '../routing/route-info.js'
import {
  type OnEnter,
  type Intercept,
  type InterceptorPosition,
  addInterceptors,
  type DecoratorEntry,
} from './interceptor.js'

/** What `check` finds. */
export interface DecoratorProblem {
  /** What is wrong, as the end of a sentence about the handler: `caches GET only`. */
  readonly message: string
  /** What to do about it. */
  readonly remedy?: string
}

/** What a decorator of one's own does. Every part may be left out. */
export interface DecoratorSpecification {
  /** Where `enter` and `intercept` stand. Default `'handler'`. */
  readonly before?: InterceptorPosition
  /** Called once for each route, at the start; the problems that it returns stop the start. */
  readonly check?: (route: RouteInfo) => readonly DecoratorProblem[]
  /** Makes the operation of the OpenAPI document that stands for the route. */
  readonly document?: (operation: OperationObject) => OperationObject
  /**
   * The providers that `enter` and `intercept` get after the route, by class or token. Classes need not be listed as
   * providers.
   */
  readonly inject?: readonly (Class | string | symbol)[]
  /**
   * For code that only acts before the handler and does not see the answer. Called at the start, once for each route;
   * its function is called with each request, before that of `intercept`.
   */
  readonly enter?: (route: RouteInfo, ...injected: never[]) => OnEnter
  /** Called at the start, once for each route; its function is called with each request. */
  readonly intercept?: (route: RouteInfo, ...injected: never[]) => Intercept
}

/** A decorator for methods and classes; without arguments the parentheses may be left out. */
export type CustomDecorator<Arguments extends readonly unknown[]> = MetadataDecorator<Arguments> &
  ((...args: Arguments) => AnyDecorator) &
  (Arguments extends readonly [] ? AnyDecorator : unknown)

/**
 * Makes a decorator of one's own. On a class it counts for each of its routes.
 *
 * @param name as it is written, for messages: `CacheFor`
 * @param specify makes the specification from the decorator's arguments; called at the start
 */
export function createDecorator<Arguments extends readonly unknown[]>(
  name: string,
  specify: (...args: Arguments) => DecoratorSpecification,
): CustomDecorator<Arguments> {
  const decorator = (...args: unknown[]): AnyDecorator | undefined => {
    // With one class alone it may be either: it is an argument, where the decorator takes one.
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
    const make = (): unknown => specify(...(args as unknown as Arguments))
    return {
      decorator: customDecorator,
      args: Object.freeze([...args]),
      specify: () => (cached ??= { specification: make() }).specification,
    }
  }
  entriesByDecorator.set(customDecorator, toEntry([]))
  return customDecorator
}

/** What was called, or is written bare, by the function that it gave. */
const entriesByDecorator = new WeakMap<object, DecoratorEntry>()

/** @returns undefined for what `createDecorator` did not make */
export function entryOf(decorator: unknown): DecoratorEntry | undefined {
  return typeof decorator === 'function' ? entriesByDecorator.get(decorator) : undefined
}

/**
 * Marks routes that only the page of a package calls, such as the admin page. The OpenAPI document leaves them out.
 */
export const Undocumented = createDecorator('Undocumented', () => ({}))

/**
 * Marks routes that machines call, such as health probes and scrapes: limits do not count them, the modules of the framework
 * neither cache nor compress their responses, and documents list them last. `health` and `metrics` use it.
 */
export const Operational = createDecorator('Operational', () => ({}))
