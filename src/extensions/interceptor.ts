/**
 * Interceptors: code that runs around handlers. An interceptor is a provider, so one instance serves all requests. It
 * is named by `@Use`, a module or `bootstrap`, and called by `serving/`.
 */
import type { OperationObject } from 'openapi3-ts/oas31'
import { type ClassReference, lineage, type Class } from '../metadata/class.js'
import { createClassMetadata, createMemberMetadata } from '../metadata/class-metadata.js'
import { toDecorator, type AnyDecorator, type DecoratorTarget } from '../metadata/dialect.js'
import type { MetadataDecorator, RouteInfo } from '../routing/route.js'
import type { RouteResponse } from '../http/route-response.js'
import type { HttpRequest } from '../http/request.js'

/** An interceptor by its class. */
interface ClassEntry {
  readonly interceptor: ClassReference<Interceptor | EntryInterceptor> | undefined
}

/** A use of a custom decorator. */
export interface DecoratorEntry {
  readonly decorator: MetadataDecorator<readonly unknown[]>
  readonly args: readonly unknown[]
  /** Creates the specification once. May throw. */
  readonly specify: () => unknown
}

export type InterceptorEntry = ClassEntry | DecoratorEntry

/** The uses of `@Use` and of custom decorators. */
const onClasses = createClassMetadata<readonly InterceptorEntry[]>('interceptors')
const onMethods = createMemberMetadata<readonly InterceptorEntry[]>('interceptors')

/**
 * Puts interceptors around a handler, or around all handlers of a class. The first one is the outermost. They need not
 * be listed as providers.
 */
export function Use(
  ...interceptors: readonly ClassReference<Interceptor | EntryInterceptor>[]
): AnyDecorator {
  if (interceptors.length === 0)
    throw new TypeError('@Use() names no interceptor. Write @Use(Timing), or remove it.')
  // Without a call, the arguments are the target: a method's class and name, or a context.
  if (interceptors.some((one: unknown) => typeof one !== 'function' && one !== undefined))
    throw new TypeError('@Use is not called with classes. Write @Use(Timing).')
  return toDecorator((target) => {
    addInterceptors(
      target,
      '@Use',
      interceptors.map((interceptor) => ({ interceptor })),
    )
  })
}

/** Adds entries before the existing ones, because decorators run from the bottom up. */
export function addInterceptors(
  { owner, member, kind, isStatic }: DecoratorTarget,
  name: string,
  entries: readonly InterceptorEntry[],
): void {
  if (member === undefined) {
    onClasses.write(owner, [...entries, ...(onClasses.readOwn(owner) ?? [])])
    return
  }
  if (kind !== 'method' || isStatic) {
    throw new TypeError(`${name} on ${owner.name}.${member}: write it before a class or a method.`)
  }
  onMethods.update(owner, member, (before = []) => [...entries, ...before])
}

/** The interceptors of a handler from outside to inside: of its base classes, its class and its method. */
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

/** The positions at which interceptors run, from outside to inside. */
export const interceptorPositions = ['gate', 'body', 'handler'] as const

/**
 * The position of an interceptor. Before the `'gate'`, only the route is known. Before the `'body'`, the caller is known,
 * and no byte of the body was read. Before the `'handler'`, the input was checked.
 */
export type InterceptorPosition = (typeof interceptorPositions)[number]

/**
 * Runs the inner interceptors and the handler once. Further calls return the same promise.
 *
 * Before gate and body, it resolves with a `RouteResponse`, also for errors, and never rejects. Before the handler, it
 * resolves with the handler's value, before its declared class is applied, and rejects with the handler's error.
 */
export interface Next {
  <Result = RouteResponse>(): Promise<Result>
}

/** Runs around the handlers of its routes. */
export interface Interceptor {
  /**
   * Called at the start, once for each route. If it returns false, requests of the route skip the interceptor at no
   * cost. Default: all routes.
   */
  applies?(route: RouteInfo): boolean
  /** @returns the result of `next()`, or any other result that a handler may return */
  intercept(request: HttpRequest, next: Next): unknown
}

/**
 * Runs before the handlers of its routes and does not see the response: a check, a count, a header. It costs much less
 * than `intercept`, because it does not wait for the response.
 */
export interface EntryInterceptor {
  /** As in `Interceptor`. */
  applies?(route: RouteInfo): boolean
  /** Throw to refuse the request. `request.addHeader` adds a header to any response. */
  enter(request: HttpRequest): void | Promise<void>
}

/** The static properties of a class of interceptors. */
export interface InterceptorClass {
  /** The position. Default `'handler'`. */
  readonly before?: InterceptorPosition
  /**
   * Whether it also runs around requests without a route and around routes of the framework. Default false.
   */
  readonly everywhere?: boolean
  /** Changes the OpenAPI operation of each of its routes. */
  readonly document?: (operation: OperationObject, route: RouteInfo) => OperationObject
}

/** The function that runs around a request's handler. */
export type Intercept = (request: HttpRequest, next: Next) => unknown

/** The function that runs before a request's handler. */
export type OnEnter = (request: HttpRequest) => void | Promise<void>

/** True for `'gate'`, `'body'` and `'handler'`. */
export function isInterceptorPosition(value: unknown): value is InterceptorPosition {
  return interceptorPositions.includes(value as InterceptorPosition)
}
