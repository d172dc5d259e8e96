/**
 * Interceptors: code that runs around handlers. An interceptor is a provider; one instance serves
 * all requests. `@Use`, a module or `bootstrap` names it; `serving/` calls it.
 */

import type { OperationObject } from 'openapi3-ts/oas31'
import {
  type ClassReference,
  createClassMetadata,
  createMemberMetadata,
  lineage,
  type Class,
} from '../metadata/class-metadata.js'
import { toDecorator, type AnyDecorator, type DecoratorTarget } from '../metadata/dialect.js'
import type { MetadataDecorator, RouteInfo } from '../routing/route-info.js'
import type { RouteResponse } from '../http/route-response.js'
import type { HttpRequest } from '../http/request.js'

/**
 * `@Use`: the interceptors around the handlers of a class, or of a method. Notes only; `createDecorator` writes into
 * the same list.
 */

/** An interceptor by its class. */
interface ClassEntry {
  readonly interceptor: ClassReference<Interceptor | EntryInterceptor> | undefined
}

/** A decorator of one's own, as it was written. */
export interface DecoratorEntry {
  readonly decorator: MetadataDecorator<readonly unknown[]>
  readonly args: readonly unknown[]
  /** Makes the specification, once. May throw. */
  readonly specify: () => unknown
}

export type InterceptorEntry = ClassEntry | DecoratorEntry

const onClasses = createClassMetadata<readonly InterceptorEntry[]>('stands')
const onMethods = createMemberMetadata<readonly InterceptorEntry[]>('stands')

/**
 * Puts interceptors around a handler, or around every handler of a class; the first is the outermost. They need not
 * be listed as providers.
 */
export function Use(
  ...interceptors: readonly ClassReference<Interceptor | EntryInterceptor>[]
): AnyDecorator {
  if (interceptors.length === 0)
    throw new TypeError('@Use() names no interceptor. Write @Use(Timing), or remove it.')
  // Without a call it gets what it stands before: a method's class and name, or a context.
  if (interceptors.some((one: unknown) => typeof one !== 'function' && one !== undefined))
    throw new TypeError('@Use has no call, or names what is no class. Write @Use(Timing).')
  return toDecorator((target) => {
    addInterceptors(
      target,
      '@Use',
      interceptors.map((interceptor) => ({ interceptor })),
    )
  })
}

/** Decorators run from the bottom up: each puts itself before what is there. */
export function addInterceptors(
  { owner, member, kind: kind, isStatic }: DecoratorTarget,
  name: string,
  entries: readonly InterceptorEntry[],
): void {
  if (member === undefined) {
    onClasses.write(owner, [...entries, ...(onClasses.readOwn(owner) ?? [])])
    return
  }
  if (kind !== 'method' || isStatic) {
    throw new TypeError(
      `${name} on ${owner.name}.${member}: it belongs before a class or a method.`,
    )
  }
  onMethods.update(owner, member, (before = []) => [...entries, ...before])
}

/** Those of a handler, from outside to inside: its class's, a base's first, and its own. */
export function readInterceptors(
  controller: Class,
  member: string,
): {
  readonly onClass: readonly InterceptorEntry[]
  readonly onMethod: readonly InterceptorEntry[]
} {
  return {
    onClass: lineage(controller).flatMap((ancestor) => onClasses.readOwn(ancestor) ?? []),
    onMethod: onMethods.read(controller, member) ?? [],
  }
}

/** The names of the custom decorators of a handler and its class: `['Throttle', 'CacheFor']`. */
export function decoratorsOf(controller: Class, member: string): string[] {
  const { onClass, onMethod } = readInterceptors(controller, member)
  return [...onClass, ...onMethod].flatMap((entry) =>
    'decorator' in entry ? [entry.decorator.decoratorName] : [],
  )
}

/** The places at which interceptors run, from outside to inside. */
export const interceptorPositions = ['gate', 'body', 'handler'] as const

/**
 * Where an interceptor stands. Before the `'gate'` nothing is known but the route; before the `'body'` the caller is
 * known and no byte of the body is read; before the `'handler'` the input is checked.
 */
export type InterceptorPosition = (typeof interceptorPositions)[number]

/**
 * Goes on to what stands further inside, once: who calls it again gets the same.
 *
 * Before gate and body it gives an `Answer`, whatever made it, and never rejects. Before the handler it gives the value
 * that the handler returned, not yet shaped, and throws what was thrown inside.
 */
export interface Next {
  <Result = RouteResponse>(): Promise<Result>
}

/** Stands around the handlers of the routes that it is written at. */
export interface Interceptor {
  /**
   * Called once for each route, at the start; if it returns false, the route's requests cost nothing. Default: every
   * route.
   */
  applies?(route: RouteInfo): boolean
  /**
   * @returns what is answered: what `next()` gave, or anything that a handler may return
   */
  intercept(request: HttpRequest, next: Next): unknown
}

/**
 * Acts before the handlers of its routes and does not see the answer: a check, a count, a header. Because it does not
 * wait for an answer, it costs much less than `intercept`.
 */
export interface EntryInterceptor {
  /** As of `Interceptor`. */
  applies?(route: RouteInfo): boolean
  /** Throws to refuse the request. `request.addHeader` adds a header to every answer. */
  enter(request: HttpRequest): void | Promise<void>
}

/** A class of interceptors, with where they stand; `'handler'` where it says nothing. */
export interface InterceptorClass {
  readonly before?: InterceptorPosition
  /**
   * Also runs around requests without a route and around the framework's own routes, wherever it is listed. Default
   * false.
   */
  readonly everywhere?: boolean
  /** Changes the OpenAPI operation of each route that it surrounds. */
  readonly document?: (operation: OperationObject, route: RouteInfo) => OperationObject
}

/** One call on the walk. */
export type Intercept = (request: HttpRequest, next: Next) => unknown

/** One call on the way in. */
export type OnEnter = (request: HttpRequest) => void | Promise<void>

/** True for `'gate'`, `'body'` and `'handler'`. */
export function isInterceptorPosition(value: unknown): value is InterceptorPosition {
  return interceptorPositions.includes(value as InterceptorPosition)
}
